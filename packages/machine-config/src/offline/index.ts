export { diffMachineConfigs } from './diff.ts';
export { type ConfigParts, configParts } from './lines.ts';
export { type OfflineInput, type OfflinePool, type OfflineResult, renderOffline } from './render.ts';
