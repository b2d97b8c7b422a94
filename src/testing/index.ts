// deedbook/testing: the testing kit. Its public names come with the kit itself.
export {};
