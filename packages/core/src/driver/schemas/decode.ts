import type { MachineClass } from '@mcm/api';
import type { z } from 'zod';
import { issueText } from '../../values/issue-text.ts';
import { MachineError } from '../contract/errors.ts';
import { secretKeysOf } from './credentials.ts';
import type { DecodedInput, DriverDefinition, DriverInput } from './define-driver.ts';

const segment = (part: PropertyKey): string => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`);

/** Formats the path of a field, such as `.blockDevices[0].ebs`. */
export const pathText = (path: readonly PropertyKey[]): string => path.map(segment).join('');

function parse<T>(
  schema: z.ZodType<T>,
  value: unknown,
  say: (path: readonly PropertyKey[], message: string) => string,
): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => say(issue.path, issueText(issue)));
  throw new MachineError('InvalidArgument', [...new Set(problems)].join('; '));
}

const specProblem =
  ({ metadata }: MachineClass) =>
  (path: readonly PropertyKey[], message: string): string =>
    `providerSpec${pathText(path)}: ${message}; correct the field in MachineClass ${metadata.name}`;

const secretProblem =
  ({ machineClass, data }: DriverInput) =>
  (path: readonly PropertyKey[], message: string): string => {
    const secrets = secretKeysOf(machineClass).join(' or ');
    if (secrets === '') return noSecret(machineClass);
    const [key] = path;
    if (key !== undefined && data[String(key)] === undefined)
      return `data${pathText(path)} of Secret ${secrets} is missing; add the key`;
    return `data${pathText(path)} of Secret ${secrets}: ${message}; correct the key in the Secret`;
  };

export const noSecret = ({ metadata }: MachineClass): string =>
  `secretRef: MachineClass ${metadata.name} refers to no Secret; add a Secret with userData and credentials`;

/**
 * Parses the provider spec of a class with a driver's schema.
 * @throws MachineError with each invalid field and its rule
 */
export const decodeSpec = <Spec>(schema: z.ZodType<Spec>, machineClass: MachineClass): Spec =>
  parse(schema, machineClass.providerSpec, specProblem(machineClass));

/**
 * Parses the input of a call with the driver's `decode` function.
 * @throws MachineError with each invalid field and its rule
 */
export function decodeInput<Spec, Credentials>(
  driver: Pick<DriverDefinition<Spec, Credentials>, 'providerSpec' | 'credentialsSchema' | 'decode'>,
  input: DriverInput,
): DecodedInput<Spec, Credentials> {
  if (driver.decode) return driver.decode(input);
  return {
    spec: decodeSpec(driver.providerSpec, input.machineClass),
    credentials: parse(driver.credentialsSchema, input.data, secretProblem(input)),
  };
}
