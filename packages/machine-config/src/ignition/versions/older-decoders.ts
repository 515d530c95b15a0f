import { DecodeError, decode } from '../plan/decode.ts';
import type { Plan } from '../plan/plan.ts';
import { IGNITION_V2_PLAN } from './schema-v2.ts';
import { IGNITION_V1_PLAN, planOfVersion, type ReadableVersion } from './versions.ts';

/**
 * Returns which decoder accepts a config of version 2, if the decoder of the config's own version refuses the config.
 * If the decoder of an older version accepts the config, the original reports an unknown version. Source: ignition
 * 0.35, config/v2_2/config.go to config/v1/config.go, config/util/parsingErrors.go.
 */
export function decoderOfRest(raw: unknown, { minor }: ReadableVersion): 'older' | 'newer' | 'none' {
  for (let older = minor - 1; older >= 0; older -= 1) {
    if (isDecoded(planOfVersion({ major: 2, minor: older }), raw)) return 'older';
  }
  if (isDecoded(IGNITION_V1_PLAN, raw)) return 'older';
  return isDecoded(IGNITION_V2_PLAN, raw) ? 'newer' : 'none';
}

function isDecoded(plan: Plan, raw: unknown): boolean {
  try {
    decode(plan, raw);
    return true;
  } catch (error) {
    if (error instanceof DecodeError) return false;
    throw error;
  }
}
