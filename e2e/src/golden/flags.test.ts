import { readFileSync } from 'node:fs';
import { machineFlags } from '@mcm/core';
import { commonFlags, type Flags, parseDuration } from '@mcm/kube';
import { machineControllerManager } from '@mcm/machine-controller-manager';
import { expect, test } from 'vitest';

type Recorded = Record<string, Record<string, { readonly type: string; readonly default: string | null }>>;
const recorded: Recorded = JSON.parse(readFileSync(new URL('mcm/flags.json', import.meta.url), 'utf8'));

/** Intended differences of defaults. */
const OTHER_DEFAULT: Readonly<Record<string, string>> = { 'kube-api-qps': '0' };

const ZERO: Readonly<Record<string, string>> = { string: '', Level: '0', bool: 'false', duration: '0s' };

const ours: Readonly<Record<string, Flags>> = {
  'machine-controller-manager': {
    ...commonFlags(machineControllerManager.defaults),
    ...machineControllerManager.flags,
  },
  'machine-controller': { ...commonFlags({ port: 10_259, concurrency: 50, controllers: [] }), ...machineFlags },
};

const find = (flags: Flags, name: string) =>
  flags[name] ?? Object.values(flags).find(({ deprecated }) => deprecated?.[name] !== undefined);

/** Converts durations to milliseconds, because 1m equals 1m0s. */
const normal = (type: string, text: string): unknown => (type === 'duration' ? parseDuration(text) : text);

test.each(Object.keys(recorded))('%s: every flag of the original is accepted and has its default', (binary) => {
  const flags = ours[binary] ?? {};
  for (const [name, { type, default: printed }] of Object.entries(recorded[binary] ?? {})) {
    const flag = find(flags, name);
    expect(flag, `--${name}`).toBeDefined();
    if (!flag || flag.ignored !== undefined) continue;
    const wanted = OTHER_DEFAULT[name] ?? printed ?? ZERO[type] ?? '';
    const fallback = type === 'duration' ? flag.fallback : String(flag.fallback);
    expect(fallback, `default of --${name}`).toEqual(normal(type, wanted));
  }
});
