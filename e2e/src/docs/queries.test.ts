import { deployFiles } from '@mcm/cli';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { programFlags } from './flag-reference.ts';
import { knownMetrics } from './metric-reference.ts';
import { namesIn } from './text/promql.ts';

const known = knownMetrics();
const ADDED = ['namespace', 'pod', 'container', 'job', 'instance', 'le'];

/** Returns the metric of a series. */
const familyOf = (series: string): string => {
  const family = series.replace(/_(bucket|sum|count)$/, '');
  return known.get(family)?.type === 'histogram' ? family : series;
};

function faults(expr: string): string[] {
  const { metrics, grouped } = namesIn(expr);
  const labelsOf = (series: string): readonly string[] => [...(known.get(familyOf(series))?.labels ?? []), ...ADDED];
  const all = [...metrics.keys()].flatMap(labelsOf);
  return [
    ...(metrics.size === 0 ? ['asks for no metric'] : []),
    ...[...metrics.keys()].filter((series) => !known.has(familyOf(series))).map((series) => `there is no ${series}`),
    ...[...metrics.keys()]
      .filter((series) => known.get(series)?.type === 'histogram')
      .map((series) => `${series} is a histogram, which has no series of that name`),
    ...[...metrics].flatMap(([series, labels]) =>
      labels.filter((label) => !labelsOf(series).includes(label)).map((label) => `${series} has no label ${label}`),
    ),
    ...grouped.filter((label) => !all.includes(label)).map((label) => `nothing here has label ${label}`),
  ];
}

interface Board {
  readonly uid: string;
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly description?: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly definition?: string }[] };
}

const deployed = deployFiles(programFlags());
const boards = [...deployed].filter(([path]) => path.startsWith('deploy/grafana/'));
const boardOf = (text: string): Board => JSON.parse(text) as Board;

describe.each(boards)('%s', (_, text) => {
  const { panels, templating } = boardOf(text);
  const queries = panels.flatMap(({ title, targets = [] }) => targets.map((query) => ({ title, ...query })));

  test('its queries use only existing metrics and labels', () => {
    expect(queries.length).toBeGreaterThan(10);
    expect(queries.flatMap(({ title, expr }) => faults(expr).map((fault) => `${title}: ${fault}`))).toEqual([]);
  });

  test('its legends use only labels of the results', () => {
    const missing = queries.flatMap(({ title, expr, legendFormat }) =>
      [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)]
        .filter(([, label = '']) => !namesIn(expr).grouped.includes(label))
        .map(([, label]) => `${title}: ${label}`),
    );
    expect(missing).toEqual([]);
  });

  test('its variables use only existing metrics', () => {
    const asked = templating.list.flatMap(
      ({ definition }) => /^label_values\(([^{,]+)/.exec(definition ?? '')?.[1] ?? [],
    );
    expect(asked.filter((name) => !known.has(name))).toEqual([]);
  });

  test('no two panels have the same position or ID, and each has a description', () => {
    const taken = new Set<string>();
    for (const { id, title, gridPos, description, targets } of panels) {
      expect(taken.has(`id ${id}`), title).toBe(false);
      taken.add(`id ${id}`);
      expect(targets === undefined || (description ?? '').length > 10, title).toBe(true);
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x} ${y}`), `${title} at ${x} ${y}`).toBe(false);
          taken.add(`${x} ${y}`);
        }
      }
    }
  });
});

test('two dashboards are generated, each with its own ID', () => {
  expect(new Set(boards.map(([, text]) => boardOf(text).uid)).size).toBe(2);
});

test('the queries of alerts use only existing metrics and labels', () => {
  const text = deployed.get('deploy/kustomize/monitoring/monitoring.yaml') ?? '';
  const rules = parseAllDocuments(text)
    .map((document): unknown => document.toJS())
    .flatMap((object) => (isRules(object) ? object.spec.groups.flatMap(({ rules }) => rules) : []));
  expect(rules.length).toBeGreaterThan(10);
  expect(rules.flatMap(({ alert, expr }) => faults(expr).map((fault) => `${alert}: ${fault}`))).toEqual([]);
});

interface Rules {
  readonly spec: { readonly groups: readonly { readonly rules: readonly { alert: string; expr: string }[] }[] };
}
const isRules = (object: unknown): object is Rules =>
  typeof object === 'object' && object !== null && 'kind' in object && object.kind === 'PrometheusRule';

test.each([
  ['sum by (nothing) (rate(mcm_workqueue_adds_total[5m]))', 'nothing here has label nothing'],
  ['mcm_workqueue_depth{nome="x"}', 'mcm_workqueue_depth has no label nome'],
  ['max(mcm_workqueue_width)', 'there is no mcm_workqueue_width'],
  [
    'rate(mcm_workqueue_work_duration_seconds[5m])',
    'mcm_workqueue_work_duration_seconds is a histogram, which has no series of that name',
  ],
  ['vector(0)', 'asks for no metric'],
])('a wrong query is found: %s', (expr, fault) => {
  expect(faults(expr)).toEqual([fault]);
});
