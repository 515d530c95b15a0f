import { UserError } from '../command/errors.ts';

export interface ProviderName {
  readonly plain: string;
  readonly pascal: string;
}

const RULE = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const LONGEST = 30;

/**
 * Returns all forms of a provider name.
 * @throws UserError with the rules for names, if the name is invalid
 */
export function providerName(plain: string): ProviderName {
  if (!RULE.test(plain) || plain.length > LONGEST)
    throw new UserError(
      `"${plain}" is not a valid name. Use up to ${LONGEST} lower-case letters, digits and single dashes, starting with a letter`,
    );
  const pascal = plain.replace(/(^|-)([a-z0-9])/g, (_, _dash: string, letter: string) => letter.toUpperCase());
  return { plain, pascal };
}
