export { buildMachineController, type MachineController, type MachineControllerOptions } from './build.ts';
export { endpointSetting, type Variables } from './endpoint-setting.ts';
export { machineFlags } from './flags.ts';
export { machineControllerBinary, processContext, runMachineController, settingsOrExit } from './main.ts';
