export { UserError } from './errors.ts';
export { Program, type ProgramSpec, type ProgramState } from './up/processes.ts';
export { userDataFor } from './up/user-data.ts';
