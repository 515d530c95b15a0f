import { Annotations, type MachineSet } from '@mcm/api';
import { expect, test } from 'vitest';
import { set } from '../test-objects.ts';
import { newMachine } from './new-machine.ts';

const withTemplate = (metadata: object | undefined, annotations: Record<string, string> = {}): MachineSet => {
  const base = set('s', 1);
  const { metadata: _own, ...template } = base.spec.template;
  return {
    ...base,
    metadata: { ...base.metadata, annotations },
    spec: { ...base.spec, template: { ...template, ...(metadata ? { metadata } : {}) } },
  };
};
const annotationsOf = (of: MachineSet) => newMachine(of, 'm').metadata.annotations;

test('maps are merged: the last one takes precedence, absent ones add nothing, and no input changes [U-11]', () => {
  const priority = { [Annotations.Priority]: '3' };
  const forced = { [Annotations.EffectiveCreationTimeout]: '5m' };
  const template = { annotations: { a: '1', [Annotations.EffectiveCreationTimeout]: '9m' } };
  const given = withTemplate(template, forced);
  const before = structuredClone(given);
  expect(annotationsOf(given)).toEqual({ ...priority, a: '1', ...forced });
  expect(annotationsOf(withTemplate({ annotations: { [Annotations.Priority]: '1' } }))).toEqual({
    [Annotations.Priority]: '1',
  });
  expect(annotationsOf(withTemplate(undefined))).toEqual(priority);
  expect(newMachine(withTemplate(undefined), 'm').metadata.labels).toEqual({});
  expect(given).toEqual(before);
});

test('a new machine gets the capacity alternatives of its set', () => {
  const alternatives = { [Annotations.CapacityAlternatives]: '[{"zone":"b"}]' };
  expect(annotationsOf(withTemplate(undefined, alternatives))).toMatchObject(alternatives);
});
