export type { Clock, Timer } from './clock.ts';
export { realClock } from './clock.ts';
export type { JsonSchema, KindDefinition, PrinterColumn } from './kinds/kind.ts';
export type { ApiObject, Json, JsonObject, ObjectMeta, OwnerReference } from './object.ts';
export type { ControlPlane, ControlPlaneOptions, RequestLogEntry } from './plane.ts';
export { startControlPlane } from './plane.ts';
export type { Status, StatusCause } from './status.ts';
export { StatusError } from './status.ts';
