import { invalidValue, requiredValue } from '../../apimachinery/errors/errors.ts';
import { pathSegmentProblems, qualifiedNameProblems, subdomainProblems } from '../../apimachinery/errors/names.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import type { KindDefinition } from '../../apimachinery/objects/kind.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { look, number, type Plain, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { fieldAt, fieldsAt } from '../base/define.ts';
import type { Strategy } from '../base/strategy.ts';
import { internalForm } from '../internal/form.ts';

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

/** Converts events of `events.k8s.io` to core events. */
export const eventStorage: NonNullable<KindDefinition['storedAs']> = {
  resource: '/events',
  encode: (object) => ({ reportingComponent: '', reportingInstance: '', ...rename(object, EVENTS_TO_CORE, 'v1') }),
  decode(object) {
    const { reportingController, reportingInstance, ...event } = rename(object, CORE_TO_EVENTS, 'events.k8s.io/v1');
    const reporter = Object.entries({ reportingController, reportingInstance }).filter(([, value]) => value !== '');
    return { ...event, ...Object.fromEntries(reporter) };
  },
};

const REFERENCE = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];

/** Returns functions that read the fields of an event. */
function readersOf(subject: string, controller: string, source: string) {
  const read = fieldAt(controller);
  const component = fieldAt(`${source}.component`);
  const references = (name: string) => REFERENCE.map((field) => [`${name}.${field}`, fieldAt(`${subject}.${field}`)]);
  const shared = fieldsAt('reason', 'type');
  return {
    core: {
      ...Object.fromEntries(references('involvedObject')),
      ...shared,
      reportingComponent: read,
      source: (event: ApiObject) => component(event) || read(event),
    },
    events: { ...Object.fromEntries(references('regarding')), ...shared, reportingController: read },
  };
}

const OF_CORE = readersOf('involvedObject', 'reportingComponent', 'source');
const OF_EVENTS = readersOf('regarding', 'reportingController', 'deprecatedSource');

export const coreEventFields = { selectableFields: OF_CORE.core, otherFields: OF_CORE.events };
export const eventFields = { selectableFields: OF_EVENTS.events, otherFields: OF_EVENTS.core };

const TYPES = ['Normal', 'Warning'];

/** Returns the errors that both event APIs report (`legacyValidateEvent`). */
function legacyCauses(event: ApiObject, core: boolean): StatusCause[] {
  const namespace = text(look(event, core ? 'involvedObject' : 'regarding'), 'namespace');
  const own = event.metadata.namespace ?? '';
  const elsewhere = [invalidValue('involvedObject.namespace', namespace, 'does not match event.namespace')];
  if (event.eventTime === undefined || event.eventTime === null) {
    const isRight = namespace === '' ? own === 'default' : namespace === own;
    return isRight ? [] : elsewhere;
  }
  const isRight = namespace !== '' || own === 'default' || own === 'kube-system';
  return [...(isRight ? [] : elsewhere), ...detailCauses(event, core)];
}

const LONGEST_NOTE = 1024;

const DETAILS: readonly (readonly [name: string, limit: number, core: string])[] = [
  ['reportingController', Number.MAX_SAFE_INTEGER, 'reportingComponent'],
  ['reportingInstance', 128, 'reportingInstance'],
  ['action', 128, 'action'],
  ['reason', 128, 'reason'],
];

function detailCauses(event: ApiObject, core: boolean): StatusCause[] {
  const causes: StatusCause[] = [];
  for (const [events, limit, inCore] of DETAILS) {
    const field = core ? inCore : events;
    const value = text(event, field);
    if (value === '') causes.push(requiredValue(field));
    if (events === 'reportingController') {
      for (const problem of qualifiedNameProblems(value)) causes.push(invalidValue(field, value, problem));
    }
    if (Buffer.byteLength(value) > limit) causes.push(tooLongFor(field, limit));
  }
  const note = text(event, core ? 'message' : 'note');
  if (Buffer.byteLength(note) > LONGEST_NOTE) causes.push(tooLongFor('message', LONGEST_NOTE));
  return causes;
}

const tooLongFor = (field: string, limit: number): StatusCause =>
  invalidValue(field, '', `can have at most ${limit} characters`);

function seriesCauses({ series }: ApiObject): StatusCause[] {
  if (!isRecord(series)) return [];
  return [
    ...((number(series, 'count') ?? 0) < 2 ? [invalidValue('series.count', '', 'should be at least 2')] : []),
    ...(text(series, 'lastObservedTime') === '' ? [requiredValue('series.lastObservedTime')] : []),
  ];
}

const OLD_FIELDS: readonly (readonly [string, string])[] = [
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
  ['deprecatedSource', 'source'],
];

function eventCauses(event: ApiObject): StatusCause[] {
  const causes = [...legacyCauses(event, false), ...seriesCauses(event)];
  if (event.eventTime === undefined || event.eventTime === null) causes.push(requiredValue('eventTime'));
  const type = text(event, 'type');
  if (!TYPES.includes(type)) causes.push(invalidValue('type', '', `has invalid value: ${type}`));
  for (const [field, name] of OLD_FIELDS) {
    const value = event[field];
    const isSet = isRecord(value) ? text(value, 'component') !== '' || text(value, 'host') !== '' : (value ?? 0) !== 0;
    if (isSet) causes.push(invalidValue(name, '', 'needs to be unset'));
  }
  return causes;
}

/** The immutable fields have the order of the errors in kube-apiserver. */
const FROZEN: readonly (readonly [string, string])[] = [
  ['regarding', 'involvedObject'],
  ['reason', 'reason'],
  ['note', 'message'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
  ['reason', 'reason'],
  ['type', 'type'],
  ['eventTime', 'eventTime'],
  ['action', 'action'],
  ['related', 'related'],
  ['reportingController', 'reportingController'],
  ['reportingInstance', 'reportingInstance'],
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
  validate: (event) => legacyCauses(event, true),
  validateUpdate: (event) => legacyCauses(event, true),
  // A core event may have any name that is a valid path segment.
  validateName: pathSegmentProblems,
  assessesMetaLast: true,
  defaultPropagation: 'Unsupported',
};
export const eventStrategy: Strategy = {
  validate: eventCauses,
  validateUpdate: (event, old) => [
    ...legacyCauses(event, false),
    ...(jsonEquals(event.series ?? null, old.series ?? null) ? [] : seriesCauses(event)),
    ...eventChange(event, old),
  ],
  validateName: subdomainProblems,
  defaultPropagation: 'Unsupported',
};
