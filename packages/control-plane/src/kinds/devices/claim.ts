import type { Findings } from '../../apimachinery/errors/findings.ts';
import { items, look, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import {
  classNameFindings,
  configurationFindings,
  fullNameFindings,
  integer,
  isTooLong,
  labelFindings,
  selectorsFindings,
  tolerationFindings,
  uniqueFindings,
} from './checks.ts';

const MOST_REQUESTS = 32;
const MOST_SUBREQUESTS = 8;
const MOST_CONSTRAINTS = 32;
const MOST_CONFIGS = 32;
const MODES = ['All', 'ExactCount'];

export type RequestNames = ReadonlyMap<string, readonly string[]>;

export const requestNames = (spec: Plain): RequestNames =>
  new Map(
    items(look(spec, 'devices'), 'requests').map((request) => [
      text(request, 'name'),
      items(request, 'firstAvailable').map((one) => text(one, 'name')),
    ]),
  );

const REFERENCE =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

export function referenceFindings(findings: Findings, name: string, at: string, known: RequestNames): void {
  const parts = name.split('/');
  const [request = '', alternative] = parts;
  if (parts.length <= 2) for (const part of parts) labelFindings(findings, part, at);
  const alternatives = known.get(request);
  const isKnown = alternatives !== undefined && (alternative === undefined || alternatives.includes(alternative));
  if (parts.length > 2 || !isKnown) findings.invalid(at, name, REFERENCE);
}

export function referencesFindings(findings: Findings, holder: Plain, at: string, known: RequestNames): void {
  const names = strings(holder, 'requests');
  if (isTooLong(findings, names, MOST_REQUESTS, at)) return;
  for (const [index, name] of names.entries()) referenceFindings(findings, name, `${at}[${index}]`, known);
  uniqueFindings(findings, names, at);
}

function countFindings(findings: Findings, request: Plain, at: string): void {
  const mode = text(request, 'allocationMode');
  const count = integer(request, 'count');
  if (mode === 'All') {
    if (Number(count) !== 0)
      findings.invalid(`${at}.count`, count, "must not be specified when allocationMode is 'All'");
  } else if (mode === 'ExactCount') {
    if (count <= 0) findings.invalid(`${at}.count`, count, 'must be greater than zero');
  } else findings.oneOf(`${at}.allocationMode`, mode, MODES);
}

function detailFindings(findings: Findings, request: Plain, at: string): void {
  classNameFindings(findings, text(request, 'deviceClassName'), `${at}.deviceClassName`);
  selectorsFindings(findings, request, `${at}.selectors`);
  countFindings(findings, request, at);
  for (const [index, toleration] of items(request, 'tolerations').entries())
    tolerationFindings(findings, toleration, `${at}.tolerations[${index}]`);
}

function requestFindings(findings: Findings, request: Plain, at: string): void {
  labelFindings(findings, text(request, 'name'), `${at}.name`);
  const alternatives = items(request, 'firstAvailable');
  const rule = 'exactly one of `exactly` or `firstAvailable` is required';
  if (request.exactly !== undefined) {
    if (alternatives.length > 0) findings.invalid(at, null, `${rule}, but multiple fields are set`);
    else detailFindings(findings, look(request, 'exactly'), `${at}.exactly`);
    return;
  }
  const here = `${at}.firstAvailable`;
  if (alternatives.length === 0) findings.required(at, rule);
  else if (!isTooLong(findings, alternatives, MOST_SUBREQUESTS, here)) {
    for (const [index, one] of alternatives.entries()) {
      labelFindings(findings, text(one, 'name'), `${here}[${index}].name`);
      detailFindings(findings, one, `${here}[${index}]`);
    }
    uniqueFindings(
      findings,
      alternatives.map((one) => text(one, 'name')),
      here,
    );
  }
}

function constraintFindings(findings: Findings, constraint: Plain, at: string, known: RequestNames): void {
  referencesFindings(findings, constraint, `${at}.requests`, known);
  const { matchAttribute, distinctAttribute } = constraint;
  if (typeof matchAttribute === 'string') fullNameFindings(findings, matchAttribute, `${at}.matchAttribute`);
  else if (typeof distinctAttribute === 'string')
    fullNameFindings(findings, distinctAttribute, `${at}.distinctAttribute`);
  else {
    const rule = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set';
    findings.required(at, rule);
  }
}

/** Validates the spec of a ResourceClaim (`validateResourceClaimSpec`). */
export function claimFindings(findings: Findings, spec: Plain, path: string): void {
  const devices = look(spec, 'devices');
  const known = requestNames(spec);
  const at = `${path}.devices`;
  const [requests, constraints, configs] = ['requests', 'constraints', 'config'].map((field) => items(devices, field));
  if (requests !== undefined && !isTooLong(findings, requests, MOST_REQUESTS, `${at}.requests`)) {
    for (const [index, request] of requests.entries()) requestFindings(findings, request, `${at}.requests[${index}]`);
    uniqueFindings(
      findings,
      requests.map((request) => text(request, 'name')),
      `${at}.requests`,
    );
  }
  if (constraints !== undefined && !isTooLong(findings, constraints, MOST_CONSTRAINTS, `${at}.constraints`)) {
    for (const [index, one] of constraints.entries())
      constraintFindings(findings, one, `${at}.constraints[${index}]`, known);
  }
  if (configs !== undefined && !isTooLong(findings, configs, MOST_CONFIGS, `${at}.config`)) {
    for (const [index, config] of configs.entries()) {
      const here = `${at}.config[${index}]`;
      referencesFindings(findings, config, `${here}.requests`, known);
      configurationFindings(findings, config, here);
    }
  }
}

export function defaultOperators(holder: Plain): void {
  for (const toleration of items(holder, 'tolerations'))
    if (text(toleration, 'operator') === '') toleration.operator = 'Equal';
}

export function defaultRequests(spec: Plain): void {
  for (const request of items(look(spec, 'devices'), 'requests')) {
    const exact = request.exactly === undefined ? [] : [look(request, 'exactly')];
    for (const one of [...exact, ...items(request, 'firstAvailable')]) {
      defaultOperators(one);
      if (text(one, 'allocationMode') === '') one.allocationMode = 'ExactCount';
      if (one.allocationMode === 'ExactCount' && Number(integer(one, 'count')) === 0) one.count = 1;
    }
  }
}
