import { Annotations, type MachineClass } from '@mcm/api';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { machine } from '../machine/testing.ts';
import { drainRuleProblems, drainRulesOf } from './drain-rules.ts';

const KEY = Annotations.DrainRules;
const field = `metadata.annotations[${KEY}]`;
const text = (...rules: readonly object[]): string => JSON.stringify(rules);
const annotated = (value: string, labels: Record<string, string> = {}) =>
  machine({ metadata: { labels, annotations: { [KEY]: value } } });
const classOf = (value: string): Pick<MachineClass, 'metadata'> =>
  partial<MachineClass>({ metadata: { name: 'small', annotations: { [KEY]: value } } });

const jobs = { name: 'jobs', behavior: 'WaitCompleted', pods: { matchLabels: { kind: 'job' } } };

test('the rules of the machine replace the rules of its class', () => {
  const own = annotated(text({ name: 'own', behavior: 'Skip' }));
  expect(drainRulesOf(own, classOf(text(jobs))).rules.map(({ name }) => name)).toEqual(['own']);
  expect(drainRulesOf(machine(), classOf(text(jobs))).rules.map(({ name }) => name)).toEqual(['jobs']);
  expect(drainRulesOf(machine(), undefined)).toEqual({ rules: [], problems: [] });
});

test('a rule matches by labels and namespaces, and a rule without selectors matches every pod', () => {
  const [rule] = drainRulesOf(annotated(text({ ...jobs, namespaces: ['batch'] })), undefined).rules;
  expect(rule?.matches('batch', { kind: 'job' })).toBe(true);
  expect([rule?.matches('web', { kind: 'job' }), rule?.matches('batch', { kind: 'web' })]).toEqual([false, false]);
  const [all] = drainRulesOf(annotated(text({ name: 'all', behavior: 'Drain', order: 1, pods: {} })), undefined).rules;
  expect([all?.order, all?.matches('any', undefined)]).toEqual([1, true]);
});

test('a rule applies only to the machines of its selector', () => {
  const rules = text({ ...jobs, machines: { matchExpressions: [{ key: 'pool', operator: 'In', values: ['a'] }] } });
  expect(drainRulesOf(annotated(rules, { pool: 'a' }), undefined).rules).toHaveLength(1);
  expect(drainRulesOf(annotated(rules, { pool: 'b' }), undefined).rules).toEqual([]);
});

test.each([
  ['no JSON', ': is not JSON'],
  [text({ ...jobs, behavior: 'Evict' }), '[0].behavior: '],
  [text(jobs, { name: 'x', behavior: 'Drain', order: 1.5 }), '[1].order: '],
  [text({ ...jobs, order: 1 }), '[0].order: is allowed only for the behavior Drain; remove the field order'],
  [text({ ...jobs, unknown: true }), '[0]: '],
  [text(...Array.from({ length: 21 }, () => jobs)), ': '],
])('the invalid list %s has no effect and is reported with the field', (value, problem) => {
  expect(drainRulesOf(annotated(value), undefined).rules).toEqual([]);
  const [said = ''] = drainRuleProblems({ [KEY]: value });
  expect(said.startsWith(`${field}${problem}`)).toBe(true);
  expect(said.endsWith('; mcm ignores the whole list')).toBe(true);
});
