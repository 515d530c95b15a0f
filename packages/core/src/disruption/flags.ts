import { durationFlag, type FlagValues, flagGroup, integerFlag, textFlag } from '@mcm/kube';
import { MAX_UNHEALTHY_REPLACEMENTS } from './replacements.ts';
import type { SafeguardSettings } from './safeguards.ts';
import { BREAKER_DEFAULTS } from './unreachable.ts';

/** The flags that limit replacements. The flags must have equal values in the manager and in the machine controller. */
export const safeguardFlags = flagGroup('Replacement of unhealthy machines', {
  'max-unhealthy-replacements': textFlag({
    default: String(MAX_UNHEALTHY_REPLACEMENTS),
    placeholder: '<count or percent>',
    help: 'maximum number or percentage of unhealthy machines of a MachineDeployment that mcm replaces at the same time',
  }),
  'silence-window': durationFlag({
    default: BREAKER_DEFAULTS.windowMs,
    minMs: 60_000,
    help: 'period in which the circuit breaker counts machines that became unreachable',
  }),
  'silence-threshold-percent': integerFlag({
    min: 1,
    default: BREAKER_DEFAULTS.thresholdPercent,
    help: 'percentage of unreachable machines of a zone or of the cluster at which the circuit breaker opens; above 100: disabled',
  }),
  'silence-minimum-count': integerFlag({
    min: 1,
    default: BREAKER_DEFAULTS.minimumCount,
    help: 'minimum number of unreachable machines that opens the circuit breaker; in a cluster with fewer machines, all must be unreachable',
  }),
  'silence-stable-period': durationFlag({
    default: BREAKER_DEFAULTS.stableMs,
    help: 'time for which the circuit breaker still counts a recovered machine as unreachable',
  }),
});

type Values = FlagValues<typeof safeguardFlags>;

/** Checks the format of `--max-unhealthy-replacements`, because the flag parser accepts any text. */
export const checkSafeguardFlags = (flags: Values): readonly string[] =>
  /^\d+%?$/.test(flags['max-unhealthy-replacements'])
    ? []
    : ['--max-unhealthy-replacements must be a count such as 2 or a percentage such as 10%'];

const countOrPercent = (text: string): number | string => (text.endsWith('%') ? text : Number(text));

/** Converts parsed flags to safeguard settings. */
export const safeguardsOf = (flags: Values): Omit<SafeguardSettings, 'countTerminating' | 'rolloutAnnotations'> => ({
  maxUnhealthyReplacements: countOrPercent(flags['max-unhealthy-replacements']),
  breaker: {
    windowMs: flags['silence-window'],
    thresholdPercent: flags['silence-threshold-percent'],
    minimumCount: flags['silence-minimum-count'],
    stableMs: flags['silence-stable-period'],
  },
});
