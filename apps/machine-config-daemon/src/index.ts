export { machineConfigDaemon, readPolicy } from './binary.ts';
export { createDaemonUnit, type DaemonUnitOptions } from './daemon-unit.ts';
export { type MachineHostOptions, machineHost, programsIn, type RunProgram } from './machine-host.ts';
export { RootDisk } from './root-disk.ts';
