import { durationFlag, type FlagValues, flagGroup, integerFlag, textFlag } from '@mcm/kube';
import { MAX_UNHEALTHY_REPLACEMENTS } from '../machine/replacements.ts';
import type { SafeguardSettings } from './safeguards.ts';
import { BREAKER_DEFAULTS } from './silence.ts';

/** What stands between an unhealthy machine and its replacement: the same flags for both binaries, to be given the same. */
export const safeguardFlags = flagGroup('Replacement of unhealthy machines', {
  'max-unhealthy-replacements': textFlag({
    default: String(MAX_UNHEALTHY_REPLACEMENTS),
    placeholder: '<count or percent>',
    help: 'unhealthy machines of a deployment that are replaced at once, beside no more disruptions than these; at least one',
  }),
  'silence-window': durationFlag({
    default: BREAKER_DEFAULTS.windowMs,
    minMs: 60_000,
    help: 'machines that fell silent within this time of each other are counted together',
  }),
  'silence-threshold-percent': integerFlag({
    min: 1,
    default: BREAKER_DEFAULTS.thresholdPercent,
    help: 'when this share of the machines of a zone or of the cluster fell silent together, none of them is replaced; above 100 never',
  }),
  'silence-minimum-count': integerFlag({
    min: 1,
    default: BREAKER_DEFAULTS.minimumCount,
    help: 'fewer silent machines than this are replaced, unless they are all machines of the cluster, at least two, and their VMs are there',
  }),
  'silence-stable-period': durationFlag({
    default: BREAKER_DEFAULTS.stableMs,
    help: 'a machine that is heard of again counts as silent for this long',
  }),
});

type Values = FlagValues<typeof safeguardFlags>;

/** What no single flag can know is wrong. */
export const checkSafeguardFlags = (flags: Values): readonly string[] =>
  /^\d+%?$/.test(flags['max-unhealthy-replacements'])
    ? []
    : ['--max-unhealthy-replacements must be a count such as 2 or a percentage such as 10%'];

const countOrPercent = (text: string): number | string => (text.endsWith('%') ? text : Number(text));

/** The settings that parsed flags stand for. */
export const safeguardsOf = (flags: Values): Omit<SafeguardSettings, 'countTerminating' | 'rolloutAnnotations'> => ({
  maxUnhealthyReplacements: countOrPercent(flags['max-unhealthy-replacements']),
  breaker: {
    windowMs: flags['silence-window'],
    thresholdPercent: flags['silence-threshold-percent'],
    minimumCount: flags['silence-minimum-count'],
    stableMs: flags['silence-stable-period'],
  },
});
