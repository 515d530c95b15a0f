import { tooMany } from '../../apimachinery/errors/causes.ts';
import { Findings } from '../../apimachinery/errors/findings.ts';
import type { ApiObject } from '../../apimachinery/objects/object.ts';
import { jsonEquals } from '../../apimachinery/objects/object-text.ts';
import { items, look, type Plain, strings, text } from '../../apimachinery/objects/plain.ts';
import type { StatusCause } from '../../apimachinery/objects/status.ts';
import { parseCidr } from '../base/addresses.ts';
import { conditionsCauses } from '../base/conditions.ts';
import { internalForm } from '../internal/form.ts';
import { nodeSelectorFindings } from '../pod/rules/scheduling.ts';
import { driverFindings } from '../pod/rules/volume-sources.ts';
import {
  bindingFindings,
  configurationFindings,
  isTooLong,
  labelFindings,
  poolNameFindings,
  rawFindings,
  uidFindings,
  uniqueFindings,
} from './checks.ts';
import { type RequestNames, referenceFindings, referencesFindings, requestNames } from './claim.ts';

const MOST_CONSUMERS = 256;
const MOST_RESULTS = 32;
const MOST_CONFIGS = 64;
const MOST_CONDITIONS = 8;
const MOST_ADDRESSES = 16;
const LONGEST_INTERFACE = 256;
const LONGEST_HARDWARE = 128;
const ADDRESS = 'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)';
const SOURCES = ['FromClaim', 'FromClass'];

/** Returns the ID of an allocated device. */
const deviceId = (device: Plain): string => {
  const id = ['driver', 'pool', 'device'].map((field) => text(device, field)).join('/');
  const share = text(device, 'shareID');
  return share === '' ? id : `${id}/${share}`;
};

const resultsOf = (status: Plain): Plain[] => items(look(status, 'allocation', 'devices'), 'results');

function deviceFindings(findings: Findings, device: Plain, at: string): void {
  driverFindings(findings, text(device, 'driver'), `${at}.driver`);
  poolNameFindings(findings, text(device, 'pool'), `${at}.pool`);
  labelFindings(findings, text(device, 'device'), `${at}.device`);
}

function shareFindings(findings: Findings, device: Plain, at: string): void {
  if (device.shareID !== undefined) uidFindings(findings, text(device, 'shareID'), `${at}.shareID`);
}

function consumerFindings(findings: Findings, status: Plain, old: Plain, isDying: boolean): void {
  const at = 'status.reservedFor';
  const consumers = items(status, 'reservedFor');
  if (!isTooLong(findings, consumers, MOST_CONSUMERS, at)) {
    for (const [index, consumer] of consumers.entries()) {
      for (const field of ['resource', 'name', 'uid'])
        if (text(consumer, field) === '') findings.required(`${at}[${index}].${field}`);
    }
    uniqueFindings(
      findings,
      consumers.map((consumer) => text(consumer, 'uid')),
      at,
    );
  }
  if (consumers.length === 0) return;
  if (status.allocation === undefined) {
    findings.forbidden(at, 'may not be specified when `allocated` is not set');
    return;
  }
  const known = items(old, 'reservedFor');
  if (isDying && consumers.some((consumer) => !known.some((one) => jsonEquals(one, consumer)))) {
    const rule = 'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set';
    findings.forbidden(at, rule);
  }
}

function networkFindings(findings: Findings, data: Plain, at: string): void {
  if (text(data, 'interfaceName').length > LONGEST_INTERFACE)
    findings.tooLong(`${at}.interfaceName`, LONGEST_INTERFACE);
  if (text(data, 'hardwareAddress').length > LONGEST_HARDWARE)
    findings.tooLong(`${at}.hardwareAddress`, LONGEST_HARDWARE);
  const addresses = strings(data, 'ips');
  if (isTooLong(findings, addresses, MOST_ADDRESSES, `${at}.ips`)) return;
  for (const [index, address] of addresses.entries())
    if (parseCidr(address) === undefined) findings.invalid(`${at}.ips[${index}]`, address, ADDRESS);
  uniqueFindings(findings, addresses, `${at}.ips`);
}

function reportFindings(findings: Findings, status: Plain): void {
  const at = 'status.devices';
  const allocated = new Set(resultsOf(status).map(deviceId));
  const devices = items(status, 'devices');
  for (const [index, device] of devices.entries()) {
    const here = `${at}[${index}]`;
    deviceFindings(findings, device, here);
    shareFindings(findings, device, here);
    const id = deviceId(device);
    if (!allocated.has(id)) {
      findings.invalid(here, internalForm('SharedDeviceID', device), 'must be an allocated device in the claim');
    }
    const conditions = items(device, 'conditions');
    if (conditions.length > MOST_CONDITIONS)
      findings.add([tooMany(`${here}.conditions`, conditions.length, MOST_CONDITIONS)]);
    findings.add(conditionsCauses(device, `${here}.conditions`));
    if (device.data !== undefined) rawFindings(findings, device.data, `${here}.data`);
    networkFindings(findings, look(device, 'networkData'), `${here}.networkData`);
  }
  uniqueFindings(findings, devices.map(deviceId), at);
}

function resultFindings(findings: Findings, result: Plain, at: string, known: RequestNames): void {
  referenceFindings(findings, text(result, 'request'), `${at}.request`, known);
  deviceFindings(findings, result, at);
  bindingFindings(findings, result, at);
  shareFindings(findings, result, at);
}

function allocationFindings(findings: Findings, allocation: Plain, known: RequestNames): void {
  const devices = look(allocation, 'devices');
  const at = 'status.allocation';
  const [results, configs] = [items(devices, 'results'), items(devices, 'config')];
  if (!isTooLong(findings, results, MOST_RESULTS, `${at}.devices.results`)) {
    for (const [index, result] of results.entries())
      resultFindings(findings, result, `${at}.devices.results[${index}]`, known);
  }
  if (!isTooLong(findings, configs, MOST_CONFIGS, `${at}.devices.config`)) {
    for (const [index, config] of configs.entries()) {
      const here = `${at}.devices.config[${index}]`;
      findings.oneOf(`${here}.source`, text(config, 'source'), SOURCES, true);
      referencesFindings(findings, config, `${here}.requests`, known);
      configurationFindings(findings, config, here);
    }
  }
  const { nodeSelector } = allocation;
  if (nodeSelector !== undefined) nodeSelectorFindings(findings, nodeSelector, `${at}.nodeSelector`);
}

/** Validates the status of a ResourceClaim, as `ValidateResourceClaimStatusUpdate` in Kubernetes. */
export function claimStatusCauses(claim: ApiObject, old: ApiObject): StatusCause[] {
  const findings = new Findings();
  const [status, before] = [look(claim, 'status'), look(old, 'status')];
  consumerFindings(findings, status, before, claim.metadata.deletionTimestamp !== undefined);
  reportFindings(findings, status);
  if (status.allocation === undefined) return findings.causes;
  if (before.allocation === undefined)
    allocationFindings(findings, look(status, 'allocation'), requestNames(look(claim, 'spec')));
  else if (!jsonEquals(status.allocation, before.allocation))
    findings.invalid(
      'status.allocation',
      internalForm('AllocationResult', look(status, 'allocation')),
      'field is immutable',
    );
  return findings.causes;
}

/** Removes the status of devices that the claim no longer allocates. */
export function dropReleasedDevices(claim: ApiObject, old: ApiObject): void {
  const status = look(claim, 'status');
  const devices = items(status, 'devices');
  if (devices.length === 0) return;
  const held = new Set(resultsOf(status).map(deviceId));
  const released = new Set(
    resultsOf(look(old, 'status'))
      .map(deviceId)
      .filter((id) => !held.has(id)),
  );
  const kept = devices.filter((device) => !released.has(deviceId(device)));
  if (kept.length === 0) delete status.devices;
  else status.devices = kept;
}
