export { buildMachineController, type MachineController, type MachineControllerOptions } from './build.ts';
export { machineControllerBinary, runMachineController } from './main.ts';
