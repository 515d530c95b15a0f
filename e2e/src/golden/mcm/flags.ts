import { machineFlags } from '@mcm/core';
import { commonFlags, type Flags, parseDuration } from '@mcm/kube';
import { machineControllerManager } from '@mcm/machine-controller-manager';
import { z } from 'zod';
import { onceEach } from '../common/counts.ts';
import type { GoldenSet } from '../common/set.ts';
import { eachEntry } from './recording.ts';

/** Intended differences of defaults. */
const OTHER_DEFAULT: Readonly<Record<string, string>> = { 'kube-api-qps': '0' };

const ZERO: Readonly<Record<string, string>> = { string: '', Level: '0', bool: 'false', duration: '0s' };

const OURS: Readonly<Record<string, Flags>> = {
  'machine-controller-manager': {
    ...commonFlags(machineControllerManager.defaults),
    ...machineControllerManager.flags,
  },
  'machine-controller': { ...commonFlags({ port: 10_259, concurrency: 50, controllers: [] }), ...machineFlags },
};

const entry = z.object({ type: z.string(), default: z.string().nullable() });

const find = (flags: Flags, name: string) =>
  (Object.hasOwn(flags, name) ? flags[name] : undefined) ??
  Object.values(flags).find(({ deprecated }) => deprecated?.[name] !== undefined);

/** Converts durations to milliseconds, because 1m equals 1m0s. */
const normal = (type: string, text: string): unknown => (type === 'duration' ? parseDuration(text) : text);

const FLAGS = 'flags';

/** The flags of the original. mcm must accept each flag, and have the same default. */
export const mcmFlags: GoldenSet = {
  name: 'mcm/flags',
  run: (dir) =>
    eachEntry(dir, 'flags.json', entry, async (program, name, { type, default: printed }) => {
      const flags = OURS[program];
      if (flags === undefined) return { failure: `mcm has no program ${program}` };
      const flag = find(flags, name);
      if (!flag) return { failure: `mcm has no flag --${name}` };
      if (flag.ignored !== undefined) return { counts: { [FLAGS]: 1, 'flags that mcm ignores': 1 } };
      const counts = onceEach(Object.hasOwn(OTHER_DEFAULT, name) ? [FLAGS, 'flags with another default'] : [FLAGS]);
      const wanted = normal(type, OTHER_DEFAULT[name] ?? printed ?? ZERO[type] ?? '');
      const ours = type === 'duration' ? flag.fallback : String(flag.fallback);
      return ours === wanted ? { counts } : { failure: `the default is ${String(ours)}, not ${String(wanted)}` };
    }),
};
