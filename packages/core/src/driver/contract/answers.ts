import type { CreatedInstance, Instance, ListedInstance } from './driver.ts';
import { MachineError } from './errors.ts';

/** A driver in JavaScript, or its cloud, may return any value. Only values of the declared types are stored. */
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const broken = (driver: string, call: string, what: string): MachineError =>
  new MachineError('Internal', `driver ${driver} answered ${call} ${what}; this is a fault of the driver`);

/** @throws MachineError `Internal` with the missing field */
export function checkInstance<T extends Instance | CreatedInstance>(driver: string, call: string, answer: T): T {
  const told: unknown = answer;
  if (!isObject(told)) throw broken(driver, call, 'with nothing');
  if (typeof told.providerId !== 'string' || told.providerId === '')
    throw broken(driver, call, 'without a provider id, which is a text that is not empty');
  if (typeof told.nodeName !== 'string') throw broken(driver, call, 'without a node name, which is a text');
  return answer;
}

/**
 * @throws MachineError `Internal` with the invalid entry. In an incomplete list, mcm would take the missing VMs for
 * deleted ones.
 */
export function checkListing(driver: string, answer: readonly ListedInstance[]): readonly ListedInstance[] {
  const told: unknown = answer;
  if (!Array.isArray(told)) throw broken(driver, 'list', 'with no list');
  const wrong = told.findIndex(
    (each: unknown) => !isObject(each) || typeof each.providerId !== 'string' || typeof each.machineName !== 'string',
  );
  if (wrong >= 0) throw broken(driver, 'list', `with an entry (number ${wrong}) without provider id or machine name`);
  return answer;
}
