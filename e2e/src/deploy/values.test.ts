import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { machineFlags } from '@mcm/core';
import { commonFlags, parseFlags } from '@mcm/kube';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../docs/sources.ts';

/** What an installation by chart or kustomize gives the machine controller: its Lease at the target cluster, its flags. */

const hasHelm = spawnSync('helm', ['version'], { stdio: 'ignore' }).error === undefined;

interface Container {
  readonly name: string;
  readonly args: readonly string[];
}

interface Installed {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly { readonly resources: readonly string[] }[];
  readonly spec?: { readonly template?: { readonly spec: { readonly containers: readonly Container[] } } };
}

const objectsOf = (yaml: string): Installed[] =>
  parseAllDocuments(yaml)
    .map((document): Installed | null => document.toJS())
    .filter((object) => object !== null);

const base = (file: string): Installed[] => objectsOf(readFileSync(join(ROOT, 'deploy/kustomize/base', file), 'utf8'));

const rendered = (template: string, namespace: string, ...more: string[]): Installed[] => {
  const chart = join(ROOT, 'deploy/helm/machine-controller-manager');
  const args = ['template', 'mcm', chart, '--namespace', namespace, '--kube-version', 'v1.36.0'];
  const shown = ['--show-only', `templates/${template}.yaml`, ...more];
  return objectsOf(execFileSync('helm', [...args, ...shown], { encoding: 'utf8', maxBuffer: 1e8 }));
};

/** What may be done to Leases beside the bootstrap tokens, where control clusters keep each other out. */
const leaseRules = (objects: readonly Installed[]) =>
  objects
    .filter(({ kind, metadata }) => kind === 'Role' && metadata.namespace === 'kube-system')
    .flatMap(({ rules = [] }) => rules.filter(({ resources }) => resources.includes('leases')));

const wanted = (namespace: string) => [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    resourceNames: [`machine-controller-${namespace}`],
    verbs: ['get', 'update'],
  },
];

const argsOf = (objects: readonly Installed[], container: string): readonly string[] =>
  objects
    .flatMap(({ spec }) => spec?.template?.spec.containers ?? [])
    .filter(({ name }) => name === container)
    .flatMap(({ args }) => args);

const taken = async (args: readonly string[]) => {
  const flags = { ...commonFlags({ port: 10_259, concurrency: 50, controllers: [] }), ...machineFlags };
  const parsed = await parseFlags({ name: 'machine-controller', version: '0', description: '' }, flags, args);
  if (parsed.kind !== 'run') throw new Error(`not taken: ${JSON.stringify(parsed)}`);
  return parsed.values;
};

test('the base lets the machine controller hold its Lease at the target cluster, and no other', () => {
  expect(leaseRules(base('target-rbac.yaml'))).toEqual(wanted('default'));
});

test('the machine controller takes the flags of the base, which keep no VM', async () => {
  const args = argsOf(base('workload.yaml'), 'machine-controller');
  expect(args).toContain('--namespace=default');
  expect(await taken(args)).toMatchObject({ 'failed-vms-kept-per-class': 0 });
});

test.runIf(hasHelm).each(['default', 'shoot--garden--one'])(
  'the chart in %s lets the machine controller hold the Lease of that namespace at the target cluster',
  (namespace) => {
    expect(leaseRules(rendered('target-rbac', namespace))).toEqual(wanted(namespace));
  },
);

test.runIf(hasHelm)('flags of the machine controller are taken from flags.controller: kept VMs', async () => {
  const set = ['failed-vms-kept-per-class=3', 'failed-vms-kept-for=48h', 'orphan-policy=delete'];
  const values = set.flatMap((text) => ['--set', `flags.controller.${text}`]);
  const objects = rendered('workload', 'default', ...values);
  const args = argsOf(objects, 'machine-controller');
  expect(args).toEqual(expect.arrayContaining(set.map((text) => `--${text}`)));
  const kept = { 'failed-vms-kept-per-class': 3, 'failed-vms-kept-for': 48 * 3_600_000, 'orphan-policy': 'delete' };
  expect(await taken(args)).toMatchObject(kept);
  expect(argsOf(objects, 'machine-controller-manager').join(' ')).not.toMatch(/kept|orphan/);
});
