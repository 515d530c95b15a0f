export { bufferOf } from './buffer.ts';
export {
  isUsable,
  MOST_WARM,
  type Power,
  powerOf,
  WARM_STATES,
  type WarmSetting,
  type WarmState,
  warmSettingOf,
  warmStateOf,
} from './warm-machine.ts';
