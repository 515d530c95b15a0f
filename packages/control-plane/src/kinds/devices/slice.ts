import { tooMany } from '../../apimachinery/errors/causes.ts';
import type { Findings } from '../../apimachinery/errors/findings.ts';
import { subdomainProblems } from '../../apimachinery/errors/names.ts';
import { given } from '../../apimachinery/objects/empties.ts';
import { isRecord } from '../../apimachinery/objects/json-value.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, type Plain, text } from '../../apimachinery/objects/plain.ts';
import { internalForm } from '../internal/form.ts';
import { nodeSelectorFindings } from '../pod/rules/scheduling.ts';
import { driverFindings } from '../pod/rules/volume-sources.ts';
import {
  attributeNameFindings,
  bindingFindings,
  integer,
  isTooLong,
  labelFindings,
  poolNameFindings,
  taintFindings,
  uniqueFindings,
} from './checks.ts';
import { policyFindings } from './request-policy.ts';

const MOST_DEVICES = 128;
const MOST_SPECIAL_DEVICES = 64;
const MOST_COUNTER_SETS = 8;
const MOST_COUNTERS = 32;
const MOST_CONSUMPTIONS = 2;
const MOST_TAINTS = 16;
const MOST_NAMES = 32;
const LONGEST_VALUE = 64;
const VERSION =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$/;
/** The attribute types of alpha features. */
const ALPHA_VALUES = ['bools', 'ints', 'strings', 'versions'];
const SINGLES = ['bool', 'int', 'string', 'version'];

const entriesOf = (parent: Plain, field: string): [string, Plain][] =>
  Object.entries(look(parent, field)).map(([name, value]) => [name, isRecord(value) ? value : {}]);

function choiceFindings(findings: Findings, holder: Plain, at: string, empty: string): string[] {
  const set: string[] = [];
  const { nodeName, nodeSelector, allNodes } = holder;
  if (nodeName === '') findings.invalid(`${at}.nodeName`, nodeName, empty);
  else if (typeof nodeName === 'string') {
    set.push('`nodeName`');
    findings.problems(`${at}.nodeName`, nodeName, subdomainProblems(nodeName));
  }
  if (nodeSelector !== undefined) {
    set.push('`nodeSelector`');
    nodeSelectorFindings(findings, nodeSelector, `${at}.nodeSelector`);
  }
  flagFindings(findings, allNodes, `${at}.allNodes`, () => set.push('`allNodes`'));
  return set;
}

function flagFindings(findings: Findings, flag: unknown, at: string, isSet: () => void): void {
  if (flag === true) isSet();
  else if (flag === false) findings.invalid(at, flag, 'must be either unset or set to true');
}

function oneChoice(findings: Findings, set: readonly string[], at: string, rule: string, more: string): void {
  if (set.length === 0) findings.required(at, rule);
  if (set.length > 1) findings.invalid(at, `{${set.join(', ')}}`, more);
}

function valueFindings(findings: Findings, field: string, value: unknown, at: string): void {
  if (typeof value !== 'string') return;
  if (field.startsWith('version') && !VERSION.test(value))
    findings.invalid(at, value, 'must be a string compatible with semver.org spec 2.0.0');
  if (value.length > LONGEST_VALUE) findings.tooLong(at, LONGEST_VALUE);
}

function attributeFindings(findings: Findings, attribute: Plain, at: string): void {
  for (const field of SINGLES) valueFindings(findings, field, attribute[field], `${at}.${field}`);
  const set = SINGLES.filter((field) => attribute[field] !== undefined);
  const shown = set.length === 0 ? '' : internalForm('DeviceAttribute', attribute);
  if (set.length !== 1) findings.invalid(at, shown, 'exactly one value must be specified');
}

function detailFindings(findings: Findings, device: Plain, at: string): void {
  const [attributes, capacity] = [entriesOf(device, 'attributes'), entriesOf(device, 'capacity')];
  const names = attributes.length + capacity.length;
  if (names > MOST_NAMES)
    findings.invalid(at, names, `the total number of attributes and capacities must not exceed ${MOST_NAMES}`);
  for (const [name, attribute] of attributes) {
    attributeNameFindings(findings, name, `${at}.attributes`);
    attributeFindings(findings, attribute, `${at}.attributes[${name}]`);
  }
  for (const [name, one] of capacity) {
    attributeNameFindings(findings, name, `${at}.capacity`);
    if (one.requestPolicy === undefined) continue;
    const here = `${at}.capacity[${name}].requestPolicy`;
    if (device.allowMultipleAllocations === true) policyFindings(findings, one, here);
    else findings.forbidden(here, 'allowMultipleAllocations must be true');
  }
}

function counterFindings(findings: Findings, holder: Plain, at: string): void {
  const counters = Object.keys(look(holder, 'counters'));
  if (counters.length === 0) findings.required(at);
  else if (counters.length > MOST_COUNTERS) findings.add([tooMany(at, counters.length, MOST_COUNTERS)]);
  else for (const name of counters) labelFindings(findings, name, at);
}

function setNameFindings(findings: Findings, name: string, at: string): void {
  if (name === '') findings.required(at);
  else labelFindings(findings, name, at);
}

function consumptionFindings(findings: Findings, device: Plain, at: string): void {
  const consumptions = items(device, 'consumesCounters');
  if (isTooLong(findings, consumptions, MOST_CONSUMPTIONS, at)) return;
  for (const [index, one] of consumptions.entries()) {
    setNameFindings(findings, text(one, 'counterSet'), `${at}[${index}].counterSet`);
    counterFindings(findings, one, `${at}[${index}].counters`);
  }
  uniqueFindings(
    findings,
    consumptions.map((one) => text(one, 'counterSet')),
    at,
  );
}

const DEVICE_CHOICE =
  'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec';
const NO_CHOICE =
  '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec';

function nodeFindings(findings: Findings, device: Plain, at: string, isPerDevice: boolean): void {
  if (isPerDevice) {
    oneChoice(findings, choiceFindings(findings, device, at, 'must not be empty'), at, DEVICE_CHOICE, DEVICE_CHOICE);
  } else if (['nodeName', 'nodeSelector', 'allNodes'].some((field) => device[field] !== undefined)) {
    findings.invalid(at, null, NO_CHOICE);
  }
}

function deviceFindings(
  findings: Findings,
  device: Plain,
  old: Plain | undefined,
  at: string,
  isPerDevice: boolean,
): void {
  labelFindings(findings, text(device, 'name'), `${at}.name`);
  detailFindings(findings, device, at);
  const taints = items(device, 'taints');
  const isChanged = old === undefined || !jsonEquals(taints, items(old, 'taints'));
  if (isChanged && !isTooLong(findings, taints, MOST_TAINTS, `${at}.taints`)) {
    for (const [index, taint] of taints.entries()) taintFindings(findings, taint, `${at}.taints[${index}]`);
  }
  consumptionFindings(findings, device, `${at}.consumesCounters`);
  nodeFindings(findings, device, at, isPerDevice);
  bindingFindings(findings, device, at);
}

function poolFindings(findings: Findings, pool: Plain, at: string): void {
  poolNameFindings(findings, text(pool, 'name'), `${at}.name`);
  const [count, generation] = [integer(pool, 'resourceSliceCount'), integer(pool, 'generation')];
  if (count <= 0) findings.invalid(`${at}.resourceSliceCount`, count, 'must be greater than zero');
  if (generation < 0) findings.invalid(`${at}.generation`, generation, 'must be greater than or equal to zero');
}

/** Returns whether a device has taints or counters. */
const isSpecial = (device: Plain): boolean =>
  items(device, 'taints').length > 0 || items(device, 'consumesCounters').length > 0;

const SLICE_CHOICE = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';

/**
 * Validates the spec of a ResourceSlice (`validateResourceSliceSpec`).
 * @param old the spec of the ResourceSlice before an update
 */
export function sliceFindings(findings: Findings, spec: Plain, old: Plain | undefined): void {
  driverFindings(findings, text(spec, 'driver'), 'spec.driver');
  poolFindings(findings, look(spec, 'pool'), 'spec.pool');
  if (old !== undefined) {
    const rows: [string, unknown, unknown][] = [
      ['spec.pool.name', text(look(spec, 'pool'), 'name'), text(look(old, 'pool'), 'name')],
      ['spec.driver', text(spec, 'driver'), text(old, 'driver')],
      ['spec.nodeName', spec.nodeName ?? null, old.nodeName ?? null],
    ];
    for (const [at, value, before] of rows) if (value !== before) findings.invalid(at, value, 'field is immutable');
  }
  const set = choiceFindings(findings, spec, 'spec', 'must be either unset or set to a non-empty string');
  const terms = items(look(spec, 'nodeSelector'), 'nodeSelectorTerms');
  if (spec.nodeSelector !== undefined && terms.length !== 1) {
    const shown = terms.map((term) => internalForm('NodeSelectorTerm', term));
    findings.invalid('spec.nodeSelector.nodeSelectorTerms', shown, 'must have exactly one node selector term');
  }
  const isPerDevice = spec.perDeviceNodeSelection;
  flagFindings(findings, isPerDevice, 'spec.perDeviceNodeSelection', () => set.push('`perDeviceNodeSelection`'));
  oneChoice(findings, set, 'spec', SLICE_CHOICE, `${SLICE_CHOICE}, but multiple fields are set`);
  if (Array.isArray(given(spec, 'sharedCounters')) && Array.isArray(given(spec, 'devices')))
    findings.invalid('spec', '', 'only one of `sharedCounters` or `devices` is allowed');
  const devices = items(spec, 'devices');
  if (!isTooLong(findings, devices, devices.some(isSpecial) ? MOST_SPECIAL_DEVICES : MOST_DEVICES, 'spec.devices')) {
    const known = new Map(items(old, 'devices').map((device) => [text(device, 'name'), device]));
    for (const [index, device] of devices.entries())
      deviceFindings(findings, device, known.get(text(device, 'name')), `spec.devices[${index}]`, isPerDevice === true);
    uniqueFindings(
      findings,
      devices.map((device) => text(device, 'name')),
      'spec.devices',
    );
  }
  const sets = items(spec, 'sharedCounters');
  if (isTooLong(findings, sets, MOST_COUNTER_SETS, 'spec.sharedCounters')) return;
  for (const [index, one] of sets.entries()) {
    setNameFindings(findings, text(one, 'name'), `spec.sharedCounters[${index}].name`);
    counterFindings(findings, one, `spec.sharedCounters[${index}].counters`);
  }
  uniqueFindings(
    findings,
    sets.map((one) => text(one, 'name')),
    'spec.sharedCounters',
  );
}

export function dropAlphaFields(spec: Plain): void {
  for (const device of items(spec, 'devices')) {
    delete device.nodeAllocatableResourceMappings;
    for (const [, attribute] of entriesOf(device, 'attributes'))
      for (const field of ALPHA_VALUES) delete attribute[field];
  }
}
