import { selectorMatches } from '@mcm/api';
import { isRecord } from '@mcm/kube';
import type { Correction } from './correction.ts';

type Fields = Record<string, unknown>;
const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value : []);

/** The texts of the original name most degraded nodes twice, and omit some of them. */
const degradedTexts: Correction = ({ fn, input }, { expected, actual }) => {
  if (fn !== 'node-status' && fn !== 'node-sync') return { expected, actual };
  const nodes = [input.nodes ?? []].flat().map((node) => fieldsOf(fieldsOf(node).metadata));
  const wrong = textProblems(actual, nodes);
  return { expected: withoutTexts(expected), actual: wrong.length > 0 ? { wrong } : withoutTexts(actual) };
};

const fieldsOf = (value: unknown): Fields => (isRecord(value) ? value : {});
const STATE = 'machineconfiguration.openshift.io/state';
const REASON = 'machineconfiguration.openshift.io/reason';

/** Returns the errors in the texts of mcm about degraded nodes. */
function textProblems(value: unknown, nodes: readonly Fields[]): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((entry) => textProblems(entry, nodes));
  if (!isRecord(value)) return [];
  const { type, status, reason = '', message = '' } = value;
  if (type === 'Degraded' && reason === 'CannotBeApplied') return [];
  if (type !== 'NodeDegraded' && type !== 'Degraded') {
    return Object.values(value).flatMap((entry) => textProblems(entry, nodes));
  }
  const named: readonly string[] = String(message).match(/Node \S+ is reporting: "(?:[^"\\]|\\.)*"/g) ?? [];
  const degraded = nodes.flatMap(({ name, annotations }) => {
    const { [STATE]: state, [REASON]: given = '' } = fieldsOf(annotations);
    const said = state === 'Degraded' || state === 'Unreconcilable';
    return said ? [`Node ${name} is reporting: ${given === '' ? '' : JSON.stringify(given)}`] : [];
  });
  const wrong = named.filter((text, at) => !degraded.some((one) => text.startsWith(one)) || named.indexOf(text) !== at);
  const counted = `${named.length} nodes are reporting degraded status on sync`;
  const right = type === 'NodeDegraded' && status === 'True' ? counted : '';
  return [
    ...wrong.map((text) => `${text} is wrong`),
    ...(reason === right ? [] : [`reason is ${String(reason)}`]),
    ...(message === named.join(', ') ? [] : [`message is ${String(message)}`]),
    ...(status !== 'True' && named.length > 0 ? ['the message contains nodes without a reason'] : []),
  ];
}

function withoutTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTexts);
  if (!isRecord(value)) return value;
  if (value.type === 'NodeDegraded' || value.type === 'Degraded') {
    const { message: _message, reason: _reason, ...rest } = value;
    return rest;
  }
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withoutTexts(field)]));
}

/**
 * After a change of a node, mcm enqueues each pool that selected the node before the change or selects it now. The
 * original enqueues no pool if the node is in no pool or in two custom pools.
 */
const wakeups: Correction = ({ fn, input }, { expected, actual }) => {
  if (fn !== 'node-event' || !isRecord(expected) || !isRecord(actual)) return { expected, actual };
  const theirs = [...new Set(listOf(expected.enqueued))].toSorted();
  const ours = listOf(actual.enqueued).toSorted();
  if (theirs.length > 0) return { expected: { woken: theirs }, actual: { woken: ours } };
  const labels = [input.node, input.oldNode].map((node) => fieldsOf(fieldsOf(node).metadata).labels ?? {});
  const selecting = [input.pools ?? []].flat().flatMap((pool) => {
    const { nodeSelector } = fieldsOf(fieldsOf(pool).spec);
    const selects = labels.some((one) => isRecord(nodeSelector) && selectorMatches(nodeSelector, one as Labels));
    return selects ? [fieldsOf(fieldsOf(pool).metadata).name] : [];
  });
  return { expected: { unexpected: [] }, actual: { unexpected: ours.filter((name) => !selecting.includes(name)) } };
};

type Labels = Readonly<Record<string, string>>;

/** If a pool has no node selector, mcm can still update a node that booted into the pool. */
const bootPoolWithoutLabels: Correction = ({ fn, input }, { expected, actual }) => {
  if (fn !== 'node-sync' || !isRecord(expected) || !isRecord(actual)) return { expected, actual };
  const selectorless = (input.pools as Fields[]).some((pool) => !isRecord(pool.spec) || !pool.spec.nodeSelector);
  const dropped = listOf(expected.targetOrder).length === 0 && listOf(actual.targetOrder).length > 0;
  if (!selectorless || !dropped) return { expected, actual };
  const reported = listOf(actual.targetOrder);
  const booted = (name: string) =>
    [input.nodes ?? []].flat().some((node) => {
      const { name: own, annotations } = fieldsOf(fieldsOf(node).metadata);
      return own === name && FIRST in fieldsOf(annotations) && !(APPLIED in fieldsOf(annotations));
    });
  const changes = fieldsOf(expected.nodeChanges);
  const target = targetOf(input.pools as Fields[], input.sync);
  // mcm must change a node as the original does, but with the target of the node's pool.
  const wanted = reported.map((name) => {
    const change = fieldsOf(changes[name]);
    return [name, { ...change, annotations: { ...fieldsOf(change.annotations), [DESIRED]: target } }];
  });
  const targeted = reported.map((name) => `Normal SetDesiredConfig Targeted node ${name} to MachineConfig: ${target}`);
  return {
    expected: {
      ...expected,
      targetOrder: reported.filter(booted),
      nodeChanges: { ...changes, ...Object.fromEntries(wanted) },
      events: [...listOf(expected.events), ...targeted].toSorted(),
    },
    actual: { ...actual, events: listOf(actual.events).toSorted() },
  };
};

const targetOf = (pools: readonly Fields[], name: unknown): unknown =>
  fieldsOf(fieldsOf(pools.map(fieldsOf).find(({ metadata }) => fieldsOf(metadata).name === name)?.spec).configuration)
    .name;

const DESIRED = 'machineconfiguration.openshift.io/desiredConfig';
const FIRST = 'machineconfiguration.openshift.io/firstPivotConfig';
const APPLIED = 'machineconfiguration.openshift.io/customPoolLabelsApplied';

/** If maxUnavailable is invalid, a pool of mcm gets a condition and an event. The original writes only a log line. */
const settings: Correction = ({ fn, input }, { expected, actual }) => {
  const { error } = fieldsOf(expected);
  if (fn !== 'node-sync' || !isRecord(actual) || !/invalid value for IntOrString/.test(String(error))) {
    return { expected, actual };
  }
  const pools = Object.entries(fieldsOf(actual.poolStatusChanges)).map(([name, status]) => {
    const theirs = [fieldsOf(fieldsOf(fieldsOf(expected).poolStatusChanges)[name]).conditions ?? []]
      .flat()
      .map(fieldsOf);
    const ours = [fieldsOf(status).conditions ?? []].flat().map(fieldsOf);
    const { maxUnavailable } = fieldsOf(
      fieldsOf([input.pools ?? []].flat().find((pool) => fieldsOf(fieldsOf(pool).metadata).name === name)).spec,
    );
    const isInvalid = ({ status: state, reason, message, lastTransitionTime }: Fields): boolean =>
      state === 'True' &&
      reason === 'CannotBeApplied' &&
      lastTransitionTime === '<now>' &&
      isAboutSetting(String(message), name, maxUnavailable);
    const conditions = ours
      .filter((one) => one.type !== 'SettingsInvalid' || !isInvalid(one))
      .map((one) => (one.type === 'Degraded' && isInvalid(one) ? theirs.find(({ type }) => type === 'Degraded') : one));
    return [name, { ...fieldsOf(status), conditions }];
  });
  const pool = fieldsOf([input.pools ?? []].flat().find((one) => fieldsOf(fieldsOf(one).metadata).name === input.sync));
  const { maxUnavailable: given } = fieldsOf(pool.spec);
  const events = listOf(actual.events).filter((event) => {
    const text = /^Warning SettingsInvalid (.*)$/s.exec(event)?.[1];
    return text === undefined || !isAboutSetting(text, String(input.sync), given);
  });
  return { expected, actual: { ...actual, events, poolStatusChanges: Object.fromEntries(pools) } };
};

const isAboutSetting = (text: string, pool: string, value: unknown): boolean =>
  text.startsWith(`spec.maxUnavailable of MachineConfigPool ${pool} is ${JSON.stringify(value)}, which is neither `) &&
  /: no node gets a target\. To fix the error: set a number such as 1, or a percentage from "1%" to "100%"$/.test(text);

export const nodeCorrections: Readonly<Record<string, Correction>> = {
  settings,
  degradedTexts,
  wakeups,
  bootPoolWithoutLabels,
};
