import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import {
  clusterApiBinding,
  DEFAULT_INSTALL,
  fleetBinding,
  installSections,
  NOT_IN_FLEET,
  profileBinding,
  separated,
} from '@mcm/cli';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { metricReferenceFiles } from '../docs/metric-reference.ts';
import { ROOT } from '../docs/sources.ts';

const isThere = (command: string): boolean =>
  spawnSync(command, ['version', '--client'], { stdio: 'ignore' }).error === undefined;

interface Named {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const OF_CHART = [
  ...['helm.sh/chart', 'app.kubernetes.io/instance', 'app.kubernetes.io/version', 'app.kubernetes.io/managed-by'],
];

interface Labelled {
  readonly metadata: { labels?: Record<string, string>; annotations?: Record<string, string> };
  readonly spec?: { readonly template?: { readonly spec?: { readonly containers?: { imagePullPolicy?: string }[] } } };
}

/** Removes the additions of the chart: its labels, the annotation that keeps CRDs, and the default pull policy. */
function withoutChart(objects: Map<string, unknown>): Map<string, unknown> {
  for (const object of objects.values()) {
    const { metadata, spec } = object as Labelled;
    for (const name of OF_CHART) delete metadata.labels?.[name];
    if (Object.keys(metadata.labels ?? {}).length === 0) delete metadata.labels;
    delete metadata.annotations?.['helm.sh/resource-policy'];
    if (Object.keys(metadata.annotations ?? {}).length === 0) delete metadata.annotations;
    for (const container of spec?.template?.spec?.containers ?? []) {
      expect(container.imagePullPolicy).toBe('IfNotPresent');
      delete container.imagePullPolicy;
    }
  }
  return objects;
}

function byName(yaml: string): Map<string, unknown> {
  const objects = parseAllDocuments(yaml).map((document): Named => document.toJS());
  return new Map(
    objects
      .filter((object) => object !== null)
      .map((object) => [`${object.kind} ${object.metadata.namespace ?? ''}/${object.metadata.name}`, object]),
  );
}

const kustomized = (folder: string): Map<string, unknown> =>
  byName(execFileSync('kubectl', ['kustomize', join(ROOT, folder)], { encoding: 'utf8', maxBuffer: 1e8 }));

test.runIf(isThere('kubectl'))('the base equals the output of kubectl kustomize', () => {
  const wanted = installSections(DEFAULT_INSTALL).filter(({ optional }) => optional !== true);
  const objects: unknown[] = JSON.parse(JSON.stringify(wanted.flatMap((section) => section.objects)));
  const made = [...kustomized('deploy/kustomize/base').values()];
  expect(made.length).toBe(objects.length);
  expect(made).toEqual(expect.arrayContaining(objects));
});

test.runIf(isThere('kubectl'))('the component for separate pods changes the base to a separate installation', () => {
  const folder = mkdtempSync(join(tmpdir(), 'separate-'));
  const part = (name: string): string =>
    relative(realpathSync(folder), join(realpathSync(ROOT), 'deploy/kustomize', name));
  const overlay = {
    resources: [part('base')],
    components: [part('policies'), part('separate-controller')],
  };
  writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(overlay));
  const made = byName(execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8', maxBuffer: 1e8 }));
  rmSync(folder, { recursive: true });
  const wanted = installSections(separated(DEFAULT_INSTALL)).filter(
    ({ name, optional }) => optional !== true || ['policies', 'separate-controller'].includes(name),
  );
  const objects: Named[] = JSON.parse(JSON.stringify(wanted.flatMap((section) => section.objects)));
  expect(made.size).toBe(objects.length);
  expect([...made.values()]).toEqual(expect.arrayContaining(objects));
});

test('the component for separate pods changes only the objects of the machine controller and the manager', () => {
  const text = readFileSync(join(ROOT, 'deploy/kustomize/separate-controller/kustomization.yaml'), 'utf8');
  const { patches }: { patches: readonly { target: { kind: string } }[] } = parse(text);
  const kinds = new Set(patches.map(({ target }) => target.kind));
  expect([...kinds]).not.toEqual(expect.arrayContaining(['CustomResourceDefinition']));
  expect([...kinds]).toContain('Deployment');
});

test.runIf(isThere('kubectl')).each([
  [['monitoring'], ['machine-controller-manager']],
  [
    ['machine-config', 'monitoring', 'monitoring-machine-config'],
    ['machine-config-controller', 'machine-controller-manager'],
  ],
])('the components %j monitor only the installed programs', (components, monitored) => {
  const folder = mkdtempSync(join(tmpdir(), 'monitoring-'));
  const part = (name: string): string =>
    relative(realpathSync(folder), join(realpathSync(ROOT), 'deploy/kustomize', name));
  const overlay = { resources: [part('base')], components: components.map(part) };
  writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(overlay));
  const made = byName(execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8', maxBuffer: 1e8 }));
  rmSync(folder, { recursive: true });
  const monitors = [...made.values()].filter((object) => (object as Named).kind === 'ServiceMonitor');
  expect(monitors.map((object) => (object as Named).metadata.name).sort()).toEqual(monitored);
});

const ofFleet = (): Named[] =>
  JSON.parse(
    JSON.stringify(
      installSections(DEFAULT_INSTALL)
        .filter(({ name, optional }) => (optional !== true && !NOT_IN_FLEET.includes(name)) || name === 'fleet')
        .flatMap((section) => section.objects),
    ),
  );

test.runIf(isThere('kubectl'))('the component for a fleet changes the base to an installation of a fleet', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
  const part = (name: string): string =>
    relative(realpathSync(folder), join(realpathSync(ROOT), 'deploy/kustomize', name));
  const overlay = { resources: [part('base')], components: [part('fleet')] };
  writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(overlay));
  const made = byName(execFileSync('kubectl', ['kustomize', folder], { encoding: 'utf8', maxBuffer: 1e8 }));
  rmSync(folder, { recursive: true });
  expect(made.size).toBe(ofFleet().length);
  expect([...made.values()]).toEqual(expect.arrayContaining(ofFleet()));
});

test.runIf(isThere('helm'))('the chart with a fleet equals the base with the component, and binds its role', () => {
  const chart = join(ROOT, 'deploy/helm/machine-controller-manager');
  const set = 'provider=local,fleet.enabled=true,fleet.namespaces={shoot--a}';
  const args = ['template', 'mcm', chart, '--namespace', 'default', '--kube-version', 'v1.36.0', '--set', set];
  const rendered = byName(execFileSync('helm', args, { encoding: 'utf8', maxBuffer: 1e8 }));
  const wanted = [...ofFleet(), JSON.parse(JSON.stringify(fleetBinding(DEFAULT_INSTALL, 'shoot--a')))];
  expect([...withoutChart(rendered).values()]).toEqual(expect.arrayContaining(wanted));
  expect(rendered.size).toBe(wanted.length);
});

test.runIf(isThere('helm')).each([
  ['fleet.clusters', '--fleet-clusters=a=b', clusterApiBinding(DEFAULT_INSTALL)],
  ['fleet.clusterProfiles', '--fleet-cluster-profiles=a=b', profileBinding(DEFAULT_INSTALL)],
])('the chart value %s sets its flag and binds its role', (value, flag, binding) => {
  const chart = join(ROOT, 'deploy/helm/machine-controller-manager');
  const set = `provider=local,fleet.enabled=true,${value}=a=b`;
  const args = ['template', 'mcm', chart, '--namespace', 'default', '--kube-version', 'v1.36.0', '--set', set];
  const text = execFileSync('helm', args, { encoding: 'utf8', maxBuffer: 1e8 });
  expect([...text.matchAll(/--fleet-(?:namespaces|cluster)[^"\n]*/g)].map(([found]) => found)).toEqual([flag, flag]);
  const rendered = withoutChart(byName(text));
  expect(rendered.size).toBe(ofFleet().length + 1);
  expect([...rendered.values()]).toContainEqual(JSON.parse(JSON.stringify(binding)));
});

test.runIf(isThere('helm') && isThere('kubectl'))(
  'the chart with separate pods equals the base with the component',
  () => {
    const chart = join(ROOT, 'deploy/helm/machine-controller-manager');
    const set = 'provider=local,separateController.enabled=true,policies.enabled=true';
    const args = ['template', 'mcm', chart, '--namespace', 'default', '--kube-version', 'v1.36.0', '--set', set];
    const rendered = byName(execFileSync('helm', args, { encoding: 'utf8', maxBuffer: 1e8 }));
    const wanted = installSections(separated(DEFAULT_INSTALL)).filter(
      ({ name, optional }) => optional !== true || ['policies', 'separate-controller'].includes(name),
    );
    expect([...withoutChart(rendered).values()]).toEqual(
      expect.arrayContaining(JSON.parse(JSON.stringify(wanted.flatMap((section) => section.objects)))),
    );
    expect(rendered.size).toBe(wanted.flatMap((section) => section.objects).length);
  },
);

test.runIf(isThere('helm') && isThere('kubectl'))('the chart with the values of the base equals the base', () => {
  const chart = join(ROOT, 'deploy/helm/machine-controller-manager');
  const args = ['template', 'mcm', chart, '--namespace', 'default', '--set', 'provider=local'];
  const rendered = byName(
    execFileSync('helm', [...args, '--kube-version', 'v1.36.0'], { encoding: 'utf8', maxBuffer: 1e8 }),
  );
  expect(withoutChart(rendered)).toEqual(kustomized('deploy/kustomize/base'));
});

test.runIf(isThere('helm') && isThere('kubectl'))(
  'the machine-config-controller of the chart equals that of the components',
  () => {
    const chart = join(ROOT, 'deploy/helm/machine-controller-manager');
    const chosen = ['machine-config', 'machine-config-target'];
    const shown = chosen.flatMap((name) => ['--show-only', `templates/${name}.yaml`]);
    const set = 'provider=local,machineConfig.enabled=true,machineConfigTarget.enabled=true';
    const args = ['template', 'mcm', chart, '--namespace', 'default', '--kube-version', 'v1.36.0', '--set', set];
    const made = byName(execFileSync('helm', [...args, ...shown], { encoding: 'utf8', maxBuffer: 1e8 }));
    const files = chosen.map((name) => readFileSync(join(ROOT, `deploy/kustomize/${name}/${name}.yaml`), 'utf8'));
    // The annotation keeps the CRDs when a user uninstalls the chart.
    for (const [name, object] of made) {
      if (!name.startsWith('CustomResourceDefinition')) continue;
      const { metadata } = object as { metadata: { annotations?: Record<string, string> } };
      expect(metadata.annotations).toMatchObject({ 'helm.sh/resource-policy': 'keep' });
    }
    expect(withoutChart(made)).toEqual(byName(files.join('---\n')));
    const flags = [...args, '--set', 'flags.configController.keep-renders=3', ...shown];
    expect(execFileSync('helm', flags, { encoding: 'utf8', maxBuffer: 1e8 })).toContain('"--keep-renders=3"');
  },
);

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook: string };
}

const alerts = installSections(DEFAULT_INSTALL)
  .flatMap(({ objects }) => objects)
  .flatMap((object): readonly Rule[] =>
    'kind' in object && object.kind === 'PrometheusRule'
      ? JSON.parse(JSON.stringify(object)).spec.groups.flatMap((group: { rules: Rule[] }) => group.rules)
      : [],
  );

test('the base contains alerts', () => {
  expect(alerts.length).toBeGreaterThan(10);
});

test.each(alerts)('$alert uses only existing metrics, and has a runbook', ({ expr, annotations }) => {
  const reference = [...metricReferenceFiles().values()].join('');
  const asked = expr.match(/\b(mcm|mcc|nodejs|process|rest_client|runtime|certificate|apiserver)_[a-z_]+/g) ?? [];
  expect(asked.length).toBeGreaterThan(0);
  for (const name of asked) expect(reference).toContain(`\`${name.replace(/_(count|sum|bucket)$/, '')}\``);
  const page = join(ROOT, annotations.runbook);
  expect(existsSync(page)).toBe(true);
  expect(readFileSync(join(ROOT, 'docs/runbooks/README.md'), 'utf8')).toContain(
    `(${annotations.runbook.split('/').at(-1)})`,
  );
});
