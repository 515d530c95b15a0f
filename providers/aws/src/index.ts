export { type AwsDriver, type AwsDriverOptions, createAwsDriver } from './driver/driver.ts';
export { isThrottle } from './ec2/attempts.ts';
export { loadSdk } from './ec2/client.ts';
export type { Environment } from './ec2/environment.ts';
export { NoAnswer, Refusal } from './ec2/refusal.ts';
export { type AwsSettings, awsFlags, awsSettings } from './ec2/settings.ts';
export { formatProviderId, instanceIdOf } from './spec/provider-id.ts';
export { AwsCredentials, AwsProviderSpec } from './spec/schemas.ts';
