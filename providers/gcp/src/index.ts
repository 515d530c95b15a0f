export { createGcpDriver, type GcpDriver, type GcpDriverOptions } from './driver/driver.ts';
export { type GcpSettings, gcpFlags, gcpSettings } from './driver/settings.ts';
export { type Description, METHODS, slimDescriptions } from './gce/descriptions.ts';
export { Refusal } from './gce/refusal.ts';
export { loadSdk } from './gce/sdk.ts';

export type { Account } from './login/accounts.ts';
export { GcpCredentials, GcpProviderSpec } from './spec/schemas.ts';
