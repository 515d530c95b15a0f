export { parseZones, type Zone, type ZoneSetting, zoneSettingOf } from './setting.ts';
export { type ZoneInput, type ZoneState, zoneOfMachine, zoneStates } from './spread.ts';
