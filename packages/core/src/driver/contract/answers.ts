import { isRecord } from '@mcm/kube';
import type { CreatedInstance, Instance, ListedInstance } from './driver.ts';
import { MachineError } from './errors.ts';

/**
 * A driver in JavaScript, or its cloud, may return values of wrong types. Only values of the declared types may be
 * stored.
 */
const broken = (driver: string, call: string, what: string): MachineError =>
  new MachineError('Internal', `driver ${driver} returned an invalid result of ${call}: ${what}; fix the driver`);

/** @throws MachineError `Internal` with the missing field */
export function checkInstance<T extends Instance | CreatedInstance>(driver: string, call: string, answer: T): T {
  const reported: unknown = answer;
  if (!isRecord(reported)) throw broken(driver, call, 'the result must be an object');
  if (typeof reported.providerId !== 'string' || reported.providerId === '')
    throw broken(driver, call, 'the provider ID must be a string that is not empty');
  if (typeof reported.nodeName !== 'string') throw broken(driver, call, 'the node name must be a string');
  return answer;
}

/**
 * Refuses the whole list if one entry is invalid, because mcm would treat missing VMs as deleted.
 * @throws MachineError `Internal` with the invalid entry
 */
export function checkListing(driver: string, answer: readonly ListedInstance[]): readonly ListedInstance[] {
  const reported: unknown = answer;
  if (!Array.isArray(reported)) throw broken(driver, 'list', 'the result must be a list');
  const wrong = reported.findIndex(
    (each: unknown) => !isRecord(each) || typeof each.providerId !== 'string' || typeof each.machineName !== 'string',
  );
  if (wrong >= 0) throw broken(driver, 'list', `entry ${wrong} must have a provider ID and a machine name`);
  return answer;
}
