export type { Account } from './driver/account.ts';
export { createGcpDriver, type GcpDriver, type GcpDriverOptions } from './driver/driver.ts';
export { GcpCredentials, GcpProviderSpec } from './driver/schemas.ts';
export { Refusal } from './gce/refusal.ts';
export { type GcpSettings, gcpFlags, gcpSettings } from './settings.ts';
