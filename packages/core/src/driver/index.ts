export { type DriverDefinition, defineDriver } from './define-driver.ts';
export type {
  Address,
  CreatedInstance,
  CreateRequest,
  Driver,
  DriverRequest,
  Instance,
  ListedInstance,
  MachineRequest,
  VolumeSource,
} from './driver.ts';
export { MACHINE_CODES, type MachineCode, MachineError } from './errors.ts';
