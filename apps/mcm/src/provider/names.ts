import { UserError } from '../command/errors.ts';

/** The name of a provider in the forms that code and documents use. */
export interface ProviderName {
  /** `hetzner-cloud`: in package names, binaries and provider ids. */
  readonly plain: string;
  /** `HetznerCloud`: in identifiers. */
  readonly pascal: string;
}

const RULE = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const LONGEST = 30;

/** @throws UserError with the rules for a name */
export function providerName(plain: string): ProviderName {
  if (!RULE.test(plain) || plain.length > LONGEST)
    throw new UserError(
      `"${plain}" is not a valid name. Use up to ${LONGEST} lower-case letters, digits and single dashes, starting with a letter`,
    );
  const pascal = plain.replace(/(^|-)([a-z0-9])/g, (_, _dash: string, letter: string) => letter.toUpperCase());
  return { plain, pascal };
}
