export { ArmError } from './arm/error.ts';
export { loadSdk, OPERATION_GROUPS } from './arm/sdk.ts';
export { type AzureSettings, azureFlags, azureSettings } from './arm/settings.ts';
export { type AzureDriver, type AzureDriverOptions, createAzureDriver } from './driver/driver.ts';
export { AzureCredentials, AzureProviderSpec } from './driver/schemas.ts';
