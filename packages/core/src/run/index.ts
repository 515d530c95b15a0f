export { buildMachineController, type MachineController, type MachineControllerOptions } from './build.ts';
