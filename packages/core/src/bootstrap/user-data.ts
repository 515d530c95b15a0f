import { UserDataPlaceholders } from '@mcm/api';
import { bytesOf } from '../driver/secrets/secret-value.ts';

/** What the placeholders of user data stand for. */
export interface UserDataValues {
  readonly machineName: string;
  /** `<id>.<secret>`; absent without a target cluster: the placeholder stays. */
  readonly bootstrapToken?: string;
}

/** Whether the user data asks for a bootstrap token, in either form. */
export const asksForToken = (userData: Uint8Array): boolean => {
  const bytes = bytesOf(userData);
  const { BootstrapToken: plain, BootstrapTokenEscaped: escaped } = UserDataPlaceholders;
  return bytes.includes(plain) || bytes.includes(escaped);
};

/** As Go's `url.QueryEscape`. */
const queryEscape = (text: string): string =>
  encodeURIComponent(text)
    .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');

/** The plain form wins; the escaped one is looked at only where the plain one does not occur. */
function replacePlaceholder(userData: string, plain: string, escaped: string, value: string): string {
  if (userData.includes(plain)) return userData.replaceAll(plain, () => bytesOf(value).toString('latin1'));
  return userData.replaceAll(escaped, () => queryEscape(value));
}

/**
 * User data with its placeholders replaced. What it does not ask for is left out; what has no value stays as it is, and so
 * does every byte that belongs to no placeholder.
 * Source: machine-controller-manager, pkg/util/provider/machinecontroller/userdata.go.
 */
export function renderUserData(userData: Uint8Array, values: UserDataValues): Uint8Array {
  const p = UserDataPlaceholders;
  // In this encoding each byte is one character, so that all other bytes stay as they are.
  const text = bytesOf(userData).toString('latin1');
  const withToken =
    values.bootstrapToken === undefined
      ? text
      : replacePlaceholder(text, p.BootstrapToken, p.BootstrapTokenEscaped, values.bootstrapToken);
  const rendered = replacePlaceholder(withToken, p.MachineName, p.MachineNameEscaped, values.machineName);
  return rendered === text ? userData : Buffer.from(rendered, 'latin1');
}
