import {
  registerDriverMetrics,
  registerHookCallMetrics,
  registerInterruptionMetrics,
  registerMachineMetrics,
  registerManagerMetrics,
  SAFEGUARD_DEFAULTS,
} from '@mcm/core';
import {
  createMetrics,
  type Metrics,
  ObserveDecisions,
  realClock,
  registerCacheSize,
  registerFeatures,
  registerFleetMetrics,
  registerSpanMetrics,
  registerWarningMetrics,
  silentLogger,
  VirtualClock,
  watchProcess,
} from '@mcm/kube';
import { registerPoolMetrics } from '@mcm/machine-config';
import { registerConfigServerMetrics } from '@mcm/machine-config-controller';
import { registerAutoscalerMetrics } from '@mcm/machine-controller-manager';
import { GENERATED, table } from './text/markdown.ts';

const store = { list: () => [], get: () => undefined, byIndex: () => [], countByIndex: () => 0, size: 0 };
const empty = { store, onChange: () => () => undefined, synced: true };

function library(): Metrics {
  const metrics = createMetrics({ prefix: 'mcm_' });
  metrics.queues('machine', { depth: () => 0, runningForMs: () => [] });
  metrics.requests('host');
  metrics.caches(() => new Map());
  metrics.malformed(() => new Map());
  registerFeatures(metrics.meters, {}, {});
  registerSpanMetrics(metrics.meters, { dropped: 0, sent: 0 });
  watchProcess(metrics.meters)();
  registerWarningMetrics({ clock: new VirtualClock(), log: silentLogger, meters: metrics.meters });
  new ObserveDecisions({ clock: new VirtualClock(), log: silentLogger, meters: metrics.meters });
  return metrics;
}

/** Returns the rows of a table about a registry: the name, the type, the labels and the help of each metric. */
function rows({ registry }: Metrics, except: ReadonlySet<string>): string[][] {
  return registry
    .getMetricsAsArray()
    .map((metric) => ({ labels: [] as string[], ...metric }))
    .filter(({ name }) => !except.has(name))
    .sort((a, b) => a.name.localeCompare(b.name))
    .map(({ name, type, help, labels, ...rest }) => {
      const names = 'labelNames' in rest && Array.isArray(rest.labelNames) ? rest.labelNames : labels;
      return [`\`${name}\``, String(type), names.map((label) => `\`${String(label)}\``).join(', '), help];
    });
}

function fleetMetrics(): Metrics {
  const metrics = library();
  registerFleetMetrics(metrics.meters, { status: () => [], peers: [] });
  registerCacheSize(metrics.meters, { bytes: () => 0 });
  return metrics;
}

function registries(): Readonly<Record<'shared' | 'fleet' | 'manager' | 'controller' | 'config', Metrics>> {
  const manager = library();
  const safeguards = { classes: empty, settings: SAFEGUARD_DEFAULTS };
  const caches = { deployments: empty, sets: empty, machines: empty, safeguards };
  registerManagerMetrics(manager.meters, { ...caches, clock: realClock });
  registerAutoscalerMetrics(manager.meters, () => 0);
  const controller = library();
  const clock = new VirtualClock();
  registerDriverMetrics(controller.meters, 'local', clock);
  registerInterruptionMetrics(controller.meters, 'local');
  registerHookCallMetrics(controller.meters);
  registerMachineMetrics(controller.meters, {
    machines: empty,
    classOf: () => undefined,
    frozen: () => false,
    shortages: () => [],
    suspects: () => ({ vms: 0, nodes: 0, quarantined: 0, stopped: 0 }),
    rechecks: () => ({ all: 0, stale: 0 }),
    clock,
  });
  const config = library();
  registerPoolMetrics(config.meters, empty);
  registerConfigServerMetrics(config.meters);
  return { shared: library(), fleet: fleetMetrics(), manager, controller, config };
}

export function knownMetrics(): ReadonlyMap<string, { readonly type: string; readonly labels: readonly string[] }> {
  const all = Object.values(registries()).flatMap((metrics) => rows(metrics, new Set()));
  const bare = (text: string): string => text.replaceAll('`', '');
  return new Map(
    all.map(([name = '', type = '', labels = '']) => [
      bare(name),
      { type, labels: bare(labels).split(', ').filter(Boolean) },
    ]),
  );
}

/** Generates the page about metrics from the registries of all programs. */
export function metricReferenceFiles(): ReadonlyMap<string, string> {
  const { shared, fleet, manager, controller, config } = registries();
  const names = new Set(shared.registry.getMetricsAsArray().map(({ name }) => name));
  const heading = ['Metric', 'Type', 'Labels', 'Meaning'];
  const text = [
    GENERATED,
    '# Metrics\n',
    'This page lists the metrics of all programs. The page is for operators who write alerts and dashboards.\n',
    '<!-- not run: it asks a pod of an installation, which a laptop does not have -->\n```sh\nkubectl port-forward deployment/machine-controller-manager 10258 &\ncurl -s http://127.0.0.1:10258/metrics\n```\n',
    'If the original also has a metric, its name and labels are the same in mcm. The page [Differences](../compatibility/differences.md#in-metrics) lists the exceptions.\n',
    '## Both binaries\n',
    table(heading, rows(shared, new Set())),
    '\n## Fleet mode\n',
    'In [fleet mode](../fleet-mode.md), the metrics of controllers, caches and requests also have the label `cluster`.\n',
    table(heading, rows(fleet, names)),
    '\n## machine-controller-manager\n',
    table(heading, rows(manager, names)),
    '\n## Machine controllers\n',
    table(heading, rows(controller, names)),
    '\n## machine-config-controller\n',
    'The common metrics of all programs have the prefix `mcc_` in this program, instead of `mcm_`.\n',
    table(heading, rows(config, names)),
    '',
  ].join('\n');
  return new Map([['docs/reference/metrics.md', text]]);
}
