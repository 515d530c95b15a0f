export { type ZoneOutlook, zoneOutlook } from './outlook.ts';
export { parseZones, type Zone, type ZoneSetting, zoneSettingOf } from './setting.ts';
export type { ZoneInput } from './spread.ts';
