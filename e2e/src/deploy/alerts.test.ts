import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_INSTALL, installSections } from '@mcm/cli';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';

/** Tests each alert with the rule tests of Prometheus, if promtool is installed. */

interface Rule {
  readonly alert: string;
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: { readonly summary: string; readonly runbook: string };
}

interface RuleGroups {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

const [spec] = installSections(DEFAULT_INSTALL)
  .flatMap(({ objects }) => objects)
  .flatMap((object): readonly RuleGroups[] =>
    'kind' in object && object.kind === 'PrometheusRule' ? [JSON.parse(JSON.stringify(object)).spec] : [],
  );
const rules = new Map((spec?.groups ?? []).flatMap((group) => group.rules).map((rule) => [rule.alert, rule]));

type Series = Readonly<Record<string, string>>;

interface Situation {
  readonly fires: Series;
  readonly labels: Series;
  readonly quiet: readonly Series[];
  readonly after?: number;
}

const condition = (kind: string, name: string): string =>
  `mcm_machine_${kind}_status_condition{condition="${name}",namespace="n",name="w",pod="a"}`;
const named = { namespace: 'n', name: 'w' };
const always = (value: number): string => `${value}x400`;
const failed = (operation: string, code: number): string =>
  `mcm_cloud_api_driver_requests_failed_total{provider="AWS",operation="${operation}",error_code="${code}"}`;
const worked = (operation: string): string =>
  `mcm_cloud_api_driver_request_duration_seconds_count{provider="AWS",operation="${operation}"}`;
const join_ = (zone: string): string =>
  `mcm_machine_num_failed_join{namespace="n",machine_deployment="w",instance_type="t",zone="${zone}"}`;
const phase = 'mcm_machine_current_status_phase{namespace="n",name="w"}';
const both = {
  'mcm_machine_deployment_items_total{pod="a"}': always(0),
  'mcm_machine_items_total{pod="a"}': always(0),
};

const SITUATIONS: Readonly<Record<string, Situation>> = {
  McmDown: { fires: { 'mcm_machine_items_total{pod="a"}': always(0) }, labels: {}, quiet: [both] },
  McmMachineControllerFrozen: {
    fires: {
      'mcm_machine_controller_frozen{namespace="n",pod="a"}': always(1),
      'mcm_machine_controller_frozen{namespace="n",pod="b"}': always(0),
    },
    labels: { namespace: 'n' },
    quiet: [
      { 'mcm_machine_controller_frozen{namespace="n",pod="a"}': always(0) },
      { 'mcm_machine_controller_frozen{namespace="n",pod="a"}': '1 1 1 0x400' },
    ],
  },
  McmReplacementHeld: {
    fires: { [condition('deployment', 'ReplacementHeld')]: always(1) },
    labels: named,
    quiet: [
      { [condition('deployment', 'ReplacementHeld')]: always(0) },
      { [condition('deployment', 'Available')]: always(1) },
    ],
  },
  McmSetFrozen: {
    fires: { [condition('set', 'Frozen')]: always(1) },
    labels: named,
    quiet: [{ [condition('set', 'Frozen')]: always(0) }],
  },
  McmDeploymentUnavailable: {
    fires: { [condition('deployment', 'Available')]: always(0) },
    labels: named,
    quiet: [
      { [condition('deployment', 'Available')]: always(1) },
      { [condition('deployment', 'Available')]: '0x10 1x400' },
    ],
  },
  McmRolloutStuck: {
    fires: { [condition('deployment', 'Progressing')]: always(0) },
    labels: named,
    quiet: [
      { [condition('deployment', 'Progressing')]: always(1) },
      { [condition('deployment', 'Progressing')]: always(2) },
    ],
  },
  McmMachineFailed: {
    fires: { [phase]: always(-3) },
    labels: named,
    quiet: [{ [phase]: always(1) }, { [phase]: always(-4) }],
  },
  McmMachineTerminatingLong: {
    fires: { [phase]: always(-4) },
    labels: named,
    quiet: [{ [phase]: always(-3) }, { [phase]: '-4x40 1x300' }],
  },
  McmMachinesDoNotJoin: {
    fires: { [join_('a')]: '_x20 1x400', [join_('b')]: '_x21 1x400' },
    labels: { namespace: 'n', machine_deployment: 'w' },
    quiet: [{ [join_('a')]: '_x20 1x400' }, { [join_('a')]: always(7), [join_('b')]: always(3) }],
    after: 30,
  },
  McmCloudCallsFail: {
    // If only one machine cannot be created, it causes one driver call every ten minutes. The alert must fire even
    // then.
    fires: {
      [failed('create_machine', 16)]: '_x3 1x9 2x9 3x9 4x9 5x9 6x9 7x9 8x9 9x9',
      [worked('get_machine_status')]: '0+1x100',
    },
    labels: { provider: 'AWS', operation: 'create_machine', error_code: '16' },
    quiet: [
      // The response NotFound is normal for the VM of a new machine, so it is not a failure.
      { [failed('get_machine_status', 5)]: '0+30x400' },
      // The series contain rare failures among many successes.
      { [failed('create_machine', 14)]: '0x10 1x9 2x9 3x9 4x300', [worked('create_machine')]: '0+2x400' },
      // Series of a driver whose calls failed and now succeed.
      { [failed('create_machine', 16)]: '0+1x5 6x400', [worked('create_machine')]: '_x10 1x400' },
    ],
    after: 60,
  },
  McmOrphans: {
    fires: { 'mcm_machine_orphans{kind="vm"}': always(2) },
    labels: { kind: 'vm' },
    quiet: [{ 'mcm_machine_orphans{kind="vm"}': '2x60 0x400' }],
  },
  McmPoolDegraded: {
    fires: { 'mcc_pool_status_condition{name="worker",condition="Degraded"}': always(1) },
    labels: { name: 'worker' },
    quiet: [
      { 'mcc_pool_status_condition{name="worker",condition="Degraded"}': always(0) },
      { 'mcc_pool_status_condition{name="worker",condition="Degraded"}': always(-1) },
    ],
  },
  McmQueueStuck: {
    fires: { 'mcm_workqueue_longest_running_processor_seconds{name="machine"}': '0+60x400' },
    labels: { name: 'machine' },
    quiet: [{ 'mcm_workqueue_longest_running_processor_seconds{name="machine"}': '0+60x9 0x400' }],
    after: 30,
  },
  McmEventLoopBlocked: {
    fires: { 'nodejs_eventloop_delay_seconds{quantile="0.99",pod="a",container="c"}': always(1.5) },
    labels: { pod: 'a', container: 'c' },
    quiet: [
      { 'nodejs_eventloop_delay_seconds{quantile="0.99",pod="a",container="c"}': always(0.2) },
      { 'nodejs_eventloop_delay_seconds{quantile="0.5",pod="a",container="c"}': always(2) },
    ],
  },
  McmRuntimeWarning: {
    fires: { 'runtime_warning{kind="crd",subject="machines"}': always(1) },
    labels: { kind: 'crd', subject: 'machines' },
    quiet: [{ 'runtime_warning{kind="crd",subject="machines"}': '1x5 0x400' }],
  },
};

const hasPromtool = spawnSync('promtool', ['--version'], { stdio: 'ignore' }).error === undefined;

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'mcm alerts '));
  writeFileSync(join(dir, 'rules.yaml'), stringify(spec));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const minutes = (text: string): number => Number.parseInt(text, 10) * (text.endsWith('h') ? 60 : 1);

const oneTest = (alert: string, series: Series, at: number, expected: readonly object[]): object => ({
  interval: '1m',
  input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
  alert_rule_test: [{ eval_time: `${at}m`, alertname: alert, exp_alerts: expected }],
});

test('every alert has a test situation', () => {
  expect(Object.keys(SITUATIONS).toSorted()).toEqual([...rules.keys()].toSorted());
});

test.runIf(hasPromtool)('every alert fires in its situation, with its labels and text, and in no other', () => {
  const tests = Object.entries(SITUATIONS).flatMap(([alert, { fires, labels, quiet, after = 0 }]) => {
    const rule = rules.get(alert);
    const lasts = minutes(rule?.for ?? '');
    const at = lasts + after + 2;
    const words = (text = ''): string =>
      text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => labels[name] ?? '');
    const fired = {
      exp_labels: { ...labels, ...rule?.labels },
      exp_annotations: { summary: words(rule?.annotations.summary), runbook: rule?.annotations.runbook },
    };
    return [
      oneTest(alert, fires, at, [fired]),
      oneTest(alert, fires, lasts - 1, []),
      ...quiet.map((series) => oneTest(alert, series, at, [])),
    ];
  });
  expect(tests.length).toBeGreaterThan(40);
  writeFileSync(
    join(dir, 'tests.yaml'),
    stringify({ rule_files: ['rules.yaml'], evaluation_interval: '1m', tests }, { aliasDuplicateObjects: false }),
  );
  const said = execFileSync('promtool', ['test', 'rules', 'tests.yaml'], { cwd: dir, encoding: 'utf8' });
  expect(said).toContain('SUCCESS');
});
