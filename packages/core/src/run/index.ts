export { buildMachineController, type MachineController, type MachineControllerOptions } from './build.ts';
export { machineFlags } from './flags.ts';
export { machineControllerBinary, processContext, runMachineController } from './main.ts';
