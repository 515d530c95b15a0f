import type { ApiObject } from '../../object.ts';
import { invalidValue, requiredValue } from '../../registry/errors.ts';
import { pathSegmentProblems, qualifiedNameProblems, subdomainProblems } from '../../registry/names.ts';
import { jsonEquals } from '../../registry/object-text.ts';
import type { StatusCause } from '../../status.ts';
import { internalForm } from '../internal/form.ts';
import type { KindDefinition } from '../kind.ts';
import { isPlain, look, number, type Plain, text } from '../plain.ts';
import type { Strategy } from '../workloads/apps.ts';

const CORE_TO_EVENTS: Readonly<Record<string, string>> = {
  involvedObject: 'regarding',
  message: 'note',
  reportingComponent: 'reportingController',
  source: 'deprecatedSource',
  firstTimestamp: 'deprecatedFirstTimestamp',
  lastTimestamp: 'deprecatedLastTimestamp',
  count: 'deprecatedCount',
};
const EVENTS_TO_CORE = Object.fromEntries(Object.entries(CORE_TO_EVENTS).map(([core, events]) => [events, core]));

const rename = (object: ApiObject, names: Readonly<Record<string, string>>, apiVersion: string): ApiObject => {
  const renamed: Plain = {};
  for (const [field, value] of Object.entries(object)) renamed[names[field] ?? field] = value;
  return { ...renamed, apiVersion, kind: 'Event', metadata: object.metadata };
};

/** Events of `events.k8s.io` are the core group's under other field names; they are kept as the latter. */
export const eventStorage: NonNullable<KindDefinition['storedAs']> = {
  resource: '/events',
  encode: (object) => rename(object, EVENTS_TO_CORE, 'v1'),
  decode: (object) => rename(object, CORE_TO_EVENTS, 'events.k8s.io/v1'),
};

const TYPES = ['Normal', 'Warning'];

/** `subject`: what the group calls that which an event is about. Its refusals speak of it as the core group does. */
function coreCauses(event: ApiObject, subject = 'involvedObject'): StatusCause[] {
  const involved = look(event, subject);
  const namespace = text(involved, 'namespace');
  const own = event.metadata.namespace ?? '';
  const isDated = event.eventTime !== undefined && event.eventTime !== null;
  if (namespace === '' && own !== 'default' && !(isDated && own === 'kube-system')) {
    return [invalidValue('involvedObject.namespace', '', 'does not match event.namespace')];
  }
  // Events that say when they happened may be about another namespace than their own.
  if (!isDated && namespace !== '' && namespace !== own) {
    return [invalidValue('involvedObject.namespace', namespace, 'does not match event.namespace')];
  }
  return [];
}

const LIMITS: readonly (readonly [string, number | undefined])[] = [
  ['reportingController', undefined],
  ['reportingInstance', 128],
  ['action', 128],
  ['reason', 128],
];

/** What an event of the new API says in other fields, with its name in the core group. */
const OLD_FIELDS: readonly (readonly [string, string])[] = [
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
  ['deprecatedSource', 'source'],
];

function eventCauses(event: ApiObject): StatusCause[] {
  // The rules of the new API hold for those that are written as such: with a time of their own.
  if (event.eventTime === undefined || event.eventTime === null) return [requiredValue('eventTime')];
  const causes = detailCauses(event);
  const type = text(event, 'type');
  if (!TYPES.includes(type)) causes.push(invalidValue('type', '', `has invalid value: ${type}`));
  for (const [field, name] of OLD_FIELDS) {
    const value = event[field];
    const isSet = isPlain(value) ? text(value, 'component') !== '' || text(value, 'host') !== '' : (value ?? 0) !== 0;
    if (isSet) causes.push(invalidValue(name, '', 'needs to be unset'));
  }
  return [...causes, ...coreCauses(event, 'regarding')];
}

/** What an event says of who saw what. */
function detailCauses(event: ApiObject): StatusCause[] {
  const causes: StatusCause[] = [];
  for (const [field, limit] of LIMITS) {
    const value = text(event, field);
    if (value === '') causes.push(requiredValue(field));
    else if (limit !== undefined && value.length > limit)
      causes.push(invalidValue(field, '', `can have at most ${limit} characters`));
  }
  const controller = text(event, 'reportingController');
  for (const problem of qualifiedNameProblems(controller)) {
    causes.push(invalidValue('reportingController', controller, problem));
  }
  const { series } = event;
  if (isPlain(series)) {
    if ((number(series, 'count') ?? 0) < 2) causes.push(invalidValue('series.count', '', 'should be at least 2'));
    if (text(series, 'lastObservedTime') === '') causes.push(requiredValue('series.lastObservedTime'));
  }
  return causes;
}

/** On an update only a namespace that has gone is told; another one is a change of the reference. */
const namespaceCauses = (event: ApiObject): StatusCause[] =>
  text(look(event, 'regarding'), 'namespace') === '' ? coreCauses(event, 'regarding') : [];

/** What of an event of the new API never changes, in the order of the server and under the names of the core group. */
const FROZEN: readonly (readonly [string, string])[] = [
  ['regarding', 'involvedObject'],
  // The server asks for the reason twice.
  ['reason', 'reason'],
  ['reason', 'reason'],
  ['note', 'message'],
  ['type', 'type'],
  ['eventTime', 'eventTime'],
  ['reportingController', 'reportingController'],
  ['reportingInstance', 'reportingInstance'],
  ['action', 'action'],
  ['related', 'related'],
];

function eventChange(event: ApiObject, old: ApiObject): StatusCause[] {
  return FROZEN.flatMap(([field, name]) => {
    const [value, before] = [event[field], old[field]];
    if (jsonEquals(value ?? null, before ?? null)) return [];
    const isReference = field === 'regarding' || field === 'related';
    const shown = isReference
      ? internalForm('ObjectReference', look(event, field))
      : (value ?? (field === 'eventTime' ? null : ''));
    return [invalidValue(name, shown, 'field is immutable')];
  });
}

export const coreEventStrategy: Strategy = {
  validate: (event) => coreCauses(event),
  validateUpdate: (event) => coreCauses(event),
  // Names of the old API only have to fit into a path.
  validateName: pathSegmentProblems,
};
export const eventStrategy: Strategy = {
  validate: eventCauses,
  validateUpdate: (event, old) => [...detailCauses(event), ...namespaceCauses(event), ...eventChange(event, old)],
  validateName: subdomainProblems,
};
