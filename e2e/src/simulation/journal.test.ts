import { Journal, journalLines, type Repeat, readJournal, repeatDecision, replayJournal } from '@mcm/core';
import { expect, test } from 'vitest';
import { again, seedsOf } from './suites/seeds.testing.ts';
import { playCase } from './suites/suites.ts';

const SUITES = ['sick', 'in-place', 'pauses', 'windows', 'leases', 'scaler', 'machines'];
/** Seeds of histories in which mcm decides while no deletion runs, and a deletion starts after the decision. */
const MORE: Readonly<Record<string, readonly number[]>> = { leases: [3], scaler: [6] };
const cases = SUITES.flatMap((suite) => seedsOf(suite, 1, MORE[suite]));

const newJournal = (): Journal => new Journal({ perObject: 24, total: 3_000 });

function recorded(journal: Journal) {
  const header = { version: '0', controller: 'both', at: new Date(0) };
  return readJournal(journalLines(header, journal.entries(), (text) => text));
}

test.each(cases)('$suite $seed: a replay with the same version finds no difference', async (one) => {
  const journal = newJournal();
  await playCase({ ...one, journal });
  const { records, problems } = recorded(journal);
  expect(problems).toEqual([]);
  expect(records.length).toBeGreaterThan(10);
  const { repeated, differences, problems: unread } = replayJournal(records);
  const found = differences.map(({ record, difference, because }) => ({ ...record, input: '', difference, because }));
  expect({ repeated, found: found.slice(0, 1), unread }, again(one)).toEqual({
    repeated: records.length,
    found: [],
    unread: [],
  });
});

/** Versions of mcm in which one function decides slightly differently. */
const MUTANTS: Readonly<Record<string, { readonly suite: string; readonly repeat: Repeat; readonly field: RegExp }>> = {
  'a deployment has one replica less': {
    suite: 'sick',
    field: /^create|^write|^because/,
    repeat: (kind, input, now) => {
      if (kind !== 'machinedeployment') return repeatDecision(kind, input, now);
      const { deployment } = input as { readonly deployment: { readonly spec: { readonly replicas?: number } } };
      const { spec } = deployment;
      const changed = { ...deployment, spec: { ...spec, replicas: (spec.replicas ?? 0) - 1 } };
      return repeatDecision(kind, { ...(input as object), deployment: changed }, now);
    },
  },
  'a machine times out a minute earlier': {
    suite: 'sick',
    field: /^next\.instant|^actions|^because/,
    repeat: (kind, input, now) => {
      if (kind !== 'machine') return repeatDecision(kind, input, now);
      const { settings } = input as { readonly settings: { readonly creationTimeoutMs: number } };
      const earlier = { ...settings, creationTimeoutMs: settings.creationTimeoutMs - 60_000 };
      return repeatDecision(kind, { ...(input as object), settings: earlier }, now);
    },
  },
  'a set creates at most one machine at a time': {
    suite: 'windows',
    field: /^create/,
    repeat: (kind, input, now) =>
      repeatDecision(kind, kind === 'machineset' ? { ...(input as object), room: 1 } : input, now),
  },
};

test.each(Object.entries(MUTANTS))('%s: the replay reports it', async (_name, { suite, repeat, field }) => {
  const journal = newJournal();
  await playCase({ suite, seed: 1, journal });
  const [first] = replayJournal(recorded(journal).records, repeat).differences;
  expect(first?.difference?.field).toMatch(field);
});
