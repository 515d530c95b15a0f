interface Query {
  readonly expr: string;
  readonly legend: string;
}

export interface PanelSpec {
  readonly title: string;
  /** The description of the panel: what it shows, and which values need attention. */
  readonly description: string;
  readonly kind: 'timeseries' | 'stat' | 'table';
  readonly unit: string;
  readonly queries: readonly Query[];
  readonly thresholds?: readonly [warning: number, critical: number] | undefined;
}

interface RowSpec {
  readonly title: string;
  readonly panels: readonly PanelSpec[];
}

export interface BoardSpec {
  /** The ID of the dashboard, which must not change, because links and later imports use it. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly { readonly name: string; readonly label: string; readonly query: string }[];
  readonly links: readonly { readonly uid: string; readonly title: string }[];
  readonly rows: readonly RowSpec[];
}

export const timeseries = (
  title: string,
  unit: string,
  description: string,
  ...queries: readonly (readonly [expr: string, legend: string])[]
): PanelSpec => ({
  title,
  description,
  kind: 'timeseries',
  unit,
  queries: queries.map(([expr, legend]) => ({ expr, legend })),
});

/** Returns a panel that shows a single number. */
export const stat = (
  title: string,
  description: string,
  expr: string,
  thresholds?: PanelSpec['thresholds'],
): PanelSpec => ({
  title,
  description,
  kind: 'stat',
  unit: 'short',
  queries: [{ expr, legend: title }],
  thresholds,
});

const WIDTH = 24;
const HEIGHTS: Readonly<Record<PanelSpec['kind'], number>> = { stat: 4, timeseries: 8, table: 8 };
const WIDTHS: Readonly<Record<PanelSpec['kind'], number>> = { stat: 4, timeseries: 12, table: 24 };
const DATASOURCE = { type: 'prometheus', uid: '$datasource' };

interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

const target = ({ expr, legend }: Query, index: number, kind: PanelSpec['kind']) => ({
  refId: String.fromCharCode(65 + index),
  datasource: DATASOURCE,
  expr,
  legendFormat: legend,
  instant: kind === 'timeseries' ? undefined : true,
  format: kind === 'table' ? 'table' : undefined,
});

function panel(spec: PanelSpec, id: number, gridPos: Place): object {
  const { title, description, kind, unit, queries, thresholds } = spec;
  const steps = [
    { color: 'green', value: null },
    ...(thresholds
      ? [
          { color: 'orange', value: thresholds[0] },
          { color: 'red', value: thresholds[1] },
        ]
      : []),
  ];
  const defaults = {
    unit,
    color: thresholds ? { mode: 'thresholds' } : undefined,
    thresholds: { mode: 'absolute', steps },
  };
  return {
    id,
    type: kind,
    title,
    description,
    gridPos,
    datasource: DATASOURCE,
    fieldConfig: { defaults, overrides: [] },
    targets: queries.map((query, index) => target(query, index, kind)),
  };
}

/** Computes the positions of panels, from left to right. */
function laidOut(
  { title, panels }: RowSpec,
  top: number,
  firstId: number,
): { readonly panels: object[]; readonly bottom: number } {
  const made: object[] = [
    { id: firstId, type: 'row', title, collapsed: false, panels: [], gridPos: { x: 0, y: top, w: WIDTH, h: 1 } },
  ];
  let [x, y, line] = [0, top + 1, 0];
  for (const spec of panels) {
    const [w, h] = [WIDTHS[spec.kind], HEIGHTS[spec.kind]];
    if (x + w > WIDTH) [x, y, line] = [0, y + line, 0];
    made.push(panel(spec, firstId + made.length, { x, y, w, h }));
    x += w;
    line = Math.max(line, h);
  }
  return { panels: made, bottom: y + line };
}

const variable = ({ name, label, query }: BoardSpec['variables'][number]) => ({
  name,
  label,
  type: 'query',
  datasource: DATASOURCE,
  query: { query, refId: name },
  definition: query,
  refresh: 2,
  includeAll: true,
  multi: true,
  sort: 1,
  current: { text: ['All'], value: ['$__all'] },
});

/** Returns the dashboard as JSON, in the format that Grafana imports. */
export function boardJson({ uid, title, description, variables, links, rows }: BoardSpec): string {
  const panels: object[] = [];
  let top = 0;
  for (const row of rows) {
    const laid = laidOut(row, top, panels.length + 1);
    panels.push(...laid.panels);
    top = laid.bottom;
  }
  const datasource = { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' };
  const board = {
    uid,
    title,
    description,
    tags: ['machine-controller-manager'],
    schemaVersion: 39,
    editable: true,
    time: { from: 'now-6h', to: 'now' },
    refresh: '1m',
    // A linked dashboard opens with the time range and the variables of this dashboard.
    links: links.map((link) => ({
      type: 'link',
      title: link.title,
      url: `/d/${link.uid}`,
      keepTime: true,
      includeVars: true,
    })),
    templating: { list: [datasource, ...variables.map(variable)] },
    panels,
  };
  return `${JSON.stringify(board, null, 2)}\n`;
}
