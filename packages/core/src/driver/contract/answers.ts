import { isRecord } from '@mcm/kube';
import type { CreatedInstance, Instance, ListedInstance } from './driver.ts';
import { MachineError } from './errors.ts';

/**
 * A driver in JavaScript, or its cloud, may return values of wrong types. The controller must not store such values.
 */
const broken = (driver: string, call: string, defect: string): MachineError =>
  new MachineError('Internal', `driver ${driver} returned an invalid result of ${call}: ${defect}; fix the driver`);

/**
 * @throws MachineError `Internal` that names the invalid field
 */
export function checkInstance<T extends Instance | CreatedInstance>(driver: string, call: string, answer: T): T {
  const reported: unknown = answer;
  if (!isRecord(reported)) throw broken(driver, call, 'the driver must return an object');
  if (typeof reported.providerId !== 'string' || reported.providerId === '')
    throw broken(driver, call, 'the provider ID of the VM must be a string that is not empty');
  if (typeof reported.nodeName !== 'string') throw broken(driver, call, 'the node name of the VM must be a string');
  return answer;
}

/**
 * Validates a list of VMs. One invalid entry makes the whole list invalid, because the VM of an ignored entry would
 * count as deleted.
 * @throws MachineError `Internal` that names the invalid entry
 */
export function checkListing(driver: string, answer: readonly ListedInstance[]): readonly ListedInstance[] {
  const reported: unknown = answer;
  if (!Array.isArray(reported)) throw broken(driver, 'list', 'the driver must return a list of VMs');
  const wrong = reported.findIndex(
    (each: unknown) => !isRecord(each) || typeof each.providerId !== 'string' || typeof each.machineName !== 'string',
  );
  if (wrong >= 0) throw broken(driver, 'list', `entry ${wrong} of the list must have a provider ID and a machine name`);
  return answer;
}
