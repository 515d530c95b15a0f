import { type MachineClass, USER_DATA_KEY } from '@mcm/api';
import { MachineError } from '../contract/errors.ts';
import { alternativeProblems, classAlternatives } from '../offerings/rules.ts';
import { secretKeysOf, secretNames } from '../schemas/credentials.ts';
import { decodeInput, noSecret } from '../schemas/decode.ts';
import type { DriverDefinition } from '../schemas/define-driver.ts';
import { placeOf } from '../schemas/hint.ts';
import { redact } from '../secrets/redact.ts';
import type { ClassLookup } from './api/class-lookup.ts';
import { scrub } from './stages/scrub.ts';

export function checkClass<Spec, Credentials>(
  driver: DriverDefinition<Spec, Credentials>,
  { secretsOf }: Pick<ClassLookup, 'secretsOf'>,
  machineClass: MachineClass,
): readonly string[] {
  const { data, hidden, problems: unreadable } = secretsOf(machineClass);
  if (unreadable.length > 0) return unreadable;
  const problems: string[] = [];
  try {
    const decoded = decodeInput(driver, { call: 'create', machineClass, data });
    const found = driver.check?.({ ...decoded, secrets: secretNames(machineClass) }) ?? [];
    problems.push(...found.map((problem) => redact(problem, hidden)));
  } catch (thrown) {
    const error = MachineError.from(thrown);
    problems.push(scrub(error, hidden, placeOf(error, machineClass)).message);
  }
  const text = problems.join('; ');
  if (secretKeysOf(machineClass).length === 0)
    return text.includes('secretRef') ? problems : [noSecret(machineClass), ...problems];
  if (data[USER_DATA_KEY] !== undefined || text.includes(USER_DATA_KEY)) return problems;
  const noUserData = `secretRef: ${secretNames(machineClass)} has no key userData, which is required for a VM; add the key`;
  return [noUserData, ...problems];
}

/**
 * Returns the problems of the alternatives of a class. If the class itself is invalid, the result is empty, and
 * `checkClass` reports the problems of the class.
 */
export function checkAlternatives<Spec, Credentials>(
  driver: DriverDefinition<Spec, Credentials>,
  { secretsOf }: Pick<ClassLookup, 'secretsOf'>,
  machineClass: MachineClass,
  text: string | undefined = classAlternatives(machineClass),
): readonly string[] {
  if (text === undefined) return [];
  try {
    const { spec } = decodeInput(driver, { call: 'create', machineClass, data: secretsOf(machineClass).data });
    return alternativeProblems(driver.alternatives, text, spec);
  } catch {
    return [];
  }
}
