import { type CommonFlags, commonFlags, type FlagValues, parseFlags } from '@mcm/kube';
import { expect, test } from 'vitest';
import { machineControllerManager } from './binary.ts';

const { defaults, flags } = machineControllerManager;

const parseAll = async (...argv: string[]) => {
  const parsed = await parseFlags(machineControllerManager, { ...commonFlags(defaults), ...flags }, argv);
  if (parsed.kind !== 'run') throw new Error('nothing to run');
  return parsed;
};

const parse = async (...argv: string[]) =>
  (await parseAll(...argv)).values as FlagValues<CommonFlags> & FlagValues<typeof flags>;

test('the default values are those of the original', async () => {
  expect(await parse()).toMatchObject({
    port: 10_258,
    namespace: 'default',
    'concurrent-syncs': 10,
    'safety-up': 2,
    'safety-down': 1,
    'machine-safety-overshooting-period': 60_000,
    'autoscaler-scaledown-annotation-during-rollout': true,
    'leader-elect': true,
  });
});

test('a command line of the original is accepted without changes', async () => {
  const values = await parse(
    '--control-kubeconfig=inClusterConfig',
    '--target-kubeconfig=/etc/target/kubeconfig',
    '--namespace=shoot--a--b',
    '--safety-up=3',
    '--safety_down=0',
    '--machine-safety-overshooting-period=300ms',
    '--autoscaler-scaledown-annotation-during-rollout=false',
    '--v=2',
  );
  expect(values).toMatchObject({
    namespace: 'shoot--a--b',
    'safety-up': 3,
    'safety-down': 0,
    'machine-safety-overshooting-period': 300,
    'autoscaler-scaledown-annotation-during-rollout': false,
  });
});

test.each([
  ['--delete-migrated-machine-class', '--delete-migrated-machine-class'],
  ['--delete-migrated-machine-class=true', '--delete-migrated-machine-class'],
  ['--machine-safety-apiserver-statuscheck-timeout=30s', '--machine-safety-apiserver-statuscheck-timeout'],
  ['--machine-safety-apiserver-statuscheck-period=1m', '--machine-safety-apiserver-statuscheck-period'],
])('the flag %s is accepted with a deprecation warning that contains its name', async (argument, name) => {
  const { warnings } = await parseAll(argument);
  expect(warnings).toEqual([expect.stringMatching(new RegExp(`^${name} has no effect: deprecated`))]);
});

test.each([
  [[], []],
  [['--safety-up=1', '--safety-down=1'], []],
  [
    ['--safety-up=1', '--safety-down=2'],
    [expect.stringContaining('--safety-down must be at most --safety-up (1), not 2')],
  ],
  [['--webhook-cert-dir=/x'], ['--webhook-cert-dir has no effect without --webhook-port']],
])('%j: the manager reports a probable mistake and accepts the value', async (argv, warnings) => {
  expect(await machineControllerManager.configure?.(await parse(...argv))).toEqual({ warnings });
});

test.each(['--safety-up=-1', '--safety-down=x', '--machine-safety-overshooting-period=5', '--unknown=1'])(
  '%s is refused with an error that contains its name',
  async (argument) => {
    await expect(parse(argument)).rejects.toThrow(argument.split('=')[0]);
  },
);

test('the Lease has the name of the original’s, machine-controller-manager, so the two never act at the same time [§1.1]', () => {
  const { name, leaseName = name } = machineControllerManager;
  expect(leaseName).toBe('machine-controller-manager');
});
