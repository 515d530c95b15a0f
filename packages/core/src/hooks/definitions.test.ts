import { Annotations, type Machine, type MachineClass } from '@mcm/api';
import { partial } from '@mcm/kube/testing';
import { expect, test } from 'vitest';
import { hooksOf, parseHooks } from './definitions.ts';

const HOOK = {
  stage: 'before-drain',
  name: 'backup',
  owner: 'backup-operator',
  timeoutMs: 1_800_000,
  afterTimeout: 'Continue',
};

test('an entry has a stage, a name, an owner, a timeout and the action after it', () => {
  const text = 'before-drain backup backup-operator 30m Continue; after-ready warm-up cache 90s Block\n';
  expect(parseHooks(text)).toEqual({
    hooks: [HOOK, { stage: 'after-ready', name: 'warm-up', owner: 'cache', timeoutMs: 90_000, afterTimeout: 'Block' }],
    problems: [],
  });
});

test.each([
  ['drain backup me 30m Continue', 'the stage must be one of before-create, after-ready, before-drain, before-delete'],
  ['before-drain Backup me 30m Continue', 'the name must be a lowercase DNS label, not "Backup"'],
  [`before-drain ${'a'.repeat(64)} me 30m Continue`, 'the name must be a lowercase DNS label'],
  ['before-drain backup', 'the owner of the hook is missing'],
  ['before-drain backup me soon Continue', 'the timeout must be a duration above 0s such as 30m, not "soon"'],
  ['before-drain backup me 0s Continue', 'the timeout must be a duration above 0s'],
  ['before-drain backup me 30m', 'the action after the timeout must be Continue or Block, not ""'],
  ['before-drain backup me 30m Continue now', '"now" is an unexpected word'],
])('%s is refused with the reason', (text, problem) => {
  const { hooks, problems } = parseHooks(text);
  expect([hooks, problems]).toEqual([[], [expect.stringContaining(problem)]]);
});

test('the condition of an entry follows the word "if"', () => {
  const text =
    'before-drain backup backup-operator 30m Continue if machine.labels["tier"]  == "db  1" || true; after-ready x y 5m Block';
  expect(parseHooks(text)).toEqual({
    hooks: [
      { ...HOOK, condition: 'machine.labels["tier"]  == "db  1" || true' },
      expect.objectContaining({ name: 'x' }),
    ],
    problems: [],
  });
});

test.each([
  ['', 'Unexpected token'],
  ['machine.lables.x == "y"', 'No such key: lables'],
  ['machine.name', 'the type of the condition must be bool, not string'],
  ['machine.name ==', 'Unexpected token'],
  ['machine.name.matches("(a+)+$")', 'the function matches() is not available'],
  ['machine.labels.all(a, machine.labels.all(b, a == b))', 'more than one of all, exists'],
  [`machine.name == "${'x'.repeat(1_000)}"`, 'more than 1000 characters'],
  [`${'1==1&&'.repeat(60)}true`, 'Exceeded maxAstNodes'],
])('an entry with the condition %s is refused with the reason', (condition, problem) => {
  const { hooks, problems } = parseHooks(`before-drain backup me 30m Continue if ${condition}`);
  expect([hooks, problems]).toEqual([[], [expect.stringContaining(problem)]]);
});

test('a second entry with the same stage and name is refused, and the other entries stay', () => {
  const text = 'before-drain backup backup-operator 30m Continue; before-drain backup other 1m Block';
  expect(parseHooks(text)).toEqual({
    hooks: [HOOK],
    problems: [expect.stringContaining('another entry has the same stage and name')],
  });
});

test('a hook of the machine replaces the one of its class, and problems name their object', () => {
  const holder = (text: string) => ({ metadata: { name: 'blue', annotations: { [Annotations.Hooks]: text } } });
  const machine = partial<Machine>(holder('before-drain backup me 1m Block; x'));
  const machineClass = partial<MachineClass>(
    holder('before-drain backup you 2m Block; after-ready check you 2m Block; y'),
  );
  const { hooks, problems } = hooksOf(machine, machineClass);
  expect(hooks.map(({ name, owner }) => [name, owner])).toEqual([
    ['backup', 'me'],
    ['check', 'you'],
  ]);
  expect(problems).toEqual([
    expect.stringContaining('of the machine: entry "x" is ignored'),
    expect.stringContaining('of MachineClass blue: entry "y" is ignored'),
  ]);
});
