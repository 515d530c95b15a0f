export { type MachineCode, MachineCodes } from '@mcm/api';
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
export { MachineError } from './errors.ts';
