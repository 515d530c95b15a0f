import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { machineFlags } from '@mcm/core';
import { commonFlags, parseFlags } from '@mcm/kube';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../docs/sources.ts';

/**
 * The settings of the machine controller in an installation with the chart or kustomize: its Lease in the target
 * cluster, and its flags.
 */

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
  const args = [
    'template',
    'mcm',
    chart,
    '--namespace',
    namespace,
    '--kube-version',
    'v1.36.0',
    '--set',
    'provider=local',
  ];
  const shown = ['--show-only', `templates/${template}.yaml`, ...more];
  return objectsOf(execFileSync('helm', [...args, ...shown], { encoding: 'utf8', maxBuffer: 1e8 }));
};

/**
 * Returns the permissions for Leases, but not for bootstrap tokens. The lock between control clusters needs Lease
 * permissions.
 */
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

test('the base gives the machine controller access to its Lease in the target cluster, and to no other Lease', () => {
  expect(leaseRules(base('target-rbac.yaml'))).toEqual(wanted('default'));
});

test('the flags of the base apply to the machine controller, and keep no failed VM', async () => {
  const args = argsOf(base('workload.yaml'), 'machine-controller');
  expect(args).toContain('--namespace=default');
  expect(await taken(args)).toMatchObject({ 'failed-vms-kept-per-class': 0 });
});

test.runIf(hasHelm).each(['default', 'shoot--garden--one'])(
  'the chart in %s gives the machine controller access to the Lease of that namespace in the target cluster',
  (namespace) => {
    expect(leaseRules(rendered('target-rbac', namespace))).toEqual(wanted(namespace));
  },
);

test.runIf(hasHelm)('flags.controller sets flags of the machine controller, such as that for kept VMs', async () => {
  const set = ['failed-vms-kept-per-class=3', 'failed-vms-kept-for=48h', 'orphan-policy=delete'];
  const values = set.flatMap((text) => ['--set', `flags.controller.${text}`]);
  const objects = rendered('workload', 'default', ...values);
  const args = argsOf(objects, 'machine-controller');
  expect(args).toEqual(expect.arrayContaining(set.map((text) => `--${text}`)));
  const kept = { 'failed-vms-kept-per-class': 3, 'failed-vms-kept-for': 48 * 3_600_000, 'orphan-policy': 'delete' };
  expect(await taken(args)).toMatchObject(kept);
  expect(argsOf(objects, 'machine-controller-manager').join(' ')).not.toMatch(/kept|orphan/);
});

test.runIf(hasHelm)('hookWebhooks.secret mounts the Secret and sets the flag of the machine controller', async () => {
  const set = ['--set', 'hookWebhooks.secret=hooks'];
  const flag = '--hook-webhooks=/etc/mcm/hooks/webhooks.json';
  const volumes = (objects: readonly Installed[]): string =>
    JSON.stringify(objects).split('"volumes":').slice(1).join();
  const shared = rendered('workload', 'default', ...set);
  expect(argsOf(shared, 'machine-controller')).toContain(flag);
  expect(await taken(argsOf(shared, 'machine-controller'))).toMatchObject({ 'hook-webhooks': flag.split('=')[1] });
  expect(argsOf(shared, 'machine-controller-manager')).not.toContain(flag);
  expect(volumes(shared)).toContain('"secretName":"hooks"');
  const separate = [...set, '--set', 'separateController.enabled=true'];
  expect(volumes(rendered('workload', 'default', ...separate))).not.toContain('"secretName":"hooks"');
  expect(volumes(rendered('separate-controller', 'default', ...separate))).toContain('"secretName":"hooks"');
  expect(JSON.stringify(rendered('workload', 'default'))).not.toMatch(/hook-webhooks|mcm\/hooks/);
});

test.runIf(hasHelm)(
  'values change their fields: image, webhooks, environment, large numbers, scheduling of pods',
  () => {
    const given = [
      ...['provider=aws', 'webhooks.enabled=false', 'flags.manager.v=1000000', 'env.controller[0].name=AWS_REGION'],
      ...['env.controller[0].value=r', 'pod.tolerations[0].operator=Exists', 'pod.labels.team=infra'],
    ];
    const objects = rendered('workload', 'here', ...given.flatMap((text) => ['--set', text]));
    const deployment = objects.find(({ kind }) => kind === 'Deployment');
    const { template } = JSON.parse(JSON.stringify(deployment)).spec;
    const [manager, controller] = template.spec.containers;
    expect(controller.image).toBe('mcm/machine-controller-aws:0.1.0');
    expect(manager.args.join(' ')).toMatch(/--v=1000000$/);
    expect(manager.args.join(' ')).not.toContain('webhook');
    expect([controller.env, manager.env]).toEqual([[{ name: 'AWS_REGION', value: 'r' }], undefined]);
    expect(template.spec.tolerations).toEqual([{ operator: 'Exists' }]);
    expect(template.metadata.labels).toMatchObject({
      team: 'infra',
      'app.kubernetes.io/name': 'machine-controller-manager',
    });
    // The network policy allows egress to the metadata service of the VM only for AWS, because the AWS SDK uses this
    // service.
    const letOut = (provider: string) =>
      JSON.stringify(rendered('network-policy', 'here', '--set', `provider=${provider}`));
    expect(letOut('aws')).toContain('169.254.0.0/16');
    for (const other of ['azure', 'gcp', 'local']) expect(letOut(other)).not.toContain('ipBlock');
  },
);

test.runIf(hasHelm).each([
  ['provider=Open Stack', 'provider'],
  ['replicas=two', 'replicas'],
  ['webhook.enabled=true', 'webhook'],
  ['kubeconfigs.target=somewhere', 'target'],
  ['resources.manager.memory=lots', 'memory'],
  ['flags.manager.Bad_Flag=1', 'Bad_Flag'],
  ['flags.manager.safty-up=3', 'safty-up'],
  ['flags.manager.safety-up=lots', 'safety-up'],
  ['flags.controller.machine-drain-timout=1h', 'machine-drain-timout'],
  ['flags.controller.machine-drain-timeout=soon', 'machine-drain-timeout'],
  ['flags.controller.leader-elect=maybe', 'leader-elect'],
  ['flags.configController.machine-pool=true', 'machine-pool'],
  ['flags.configDaemon.reboot-comand=none', 'reboot-comand'],
  ['flags.dashboard.tls-cert=/t', 'tls-cert'],
  ['pod.labels.app\\.kubernetes\\.io/name=x', 'app.kubernetes.io/name'],
  ['pod.tolerations[0].effects=NoSchedule', 'effects'],
  ['pod.affinity.nodeAffinities.x=1', 'nodeAffinities'],
  ['env.manager[0].names=x', 'names'],
  ['volumeMounts.controller[0].path=x', 'path'],
  ['images.manager.digest=latest', 'digest'],
  ['monitoring.runbookBaseUrl=docs', 'runbookBaseUrl'],
  ['monitoring.serviceMonitor.interval=soon', 'interval'],
  ['commonLabels.helm\\.sh/chart=x', 'helm.sh/chart'],
  ['networkPolicy.egress[0].port=1', 'port'],
])('%s is refused with its name', (given, name) => {
  const refused = (): unknown => {
    try {
      return rendered('workload', 'here', '--set', given);
    } catch (error) {
      return error;
    }
  };
  expect(String(refused())).toMatch(new RegExp(`schema[^]*${name}`));
});

test.runIf(hasHelm)('the flags of another provider are unknown, so the chart accepts them', () => {
  const own = ['provider=mine', 'images.controller.repository=own/controller', 'flags.controller.mine-region=x'];
  const objects = rendered('workload', 'here', ...own.flatMap((text) => ['--set', text]));
  expect(argsOf(objects, 'machine-controller')).toContain('--mine-region=x');
});

test.runIf(hasHelm).each([
  ['flags.manager.port=1', 'flags.manager.port must not be set: the probes of the pods use the default port'],
  ['flags.controller.namespace=x', 'flags.controller.namespace must not be set: the chart uses the namespace'],
  ['fleet.enabled=true,separateController.enabled=true', 'fleet.enabled and separateController.enabled must not both'],
])('%s is refused with the reason', (given, reason) => {
  expect(() => rendered('rbac', 'here', '--set', given)).toThrow(reason);
});
