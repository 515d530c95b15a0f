import { UserDataPlaceholders } from '@mcm/api';

/** What the placeholders of user data stand for. */
export interface UserDataValues {
  readonly machineName: string;
  /** `<id>.<secret>`; absent without a target cluster: the placeholder stays. */
  readonly bootstrapToken?: string;
}

/** Whether the user data asks for a bootstrap token, in either form. */
export const asksForToken = (userData: string): boolean =>
  userData.includes(UserDataPlaceholders.BootstrapToken) ||
  userData.includes(UserDataPlaceholders.BootstrapTokenEscaped);

/** As Go's `url.QueryEscape`. */
const queryEscape = (text: string): string =>
  encodeURIComponent(text)
    .replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');

/** The plain form wins; the escaped one is looked at only where the plain one does not occur. */
function replacePlaceholder(userData: string, plain: string, escaped: string, value: string): string {
  if (userData.includes(plain)) return userData.replaceAll(plain, () => value);
  return userData.replaceAll(escaped, () => queryEscape(value));
}

/**
 * User data with its placeholders replaced. What it does not ask for is left out; what has no value stays as it is.
 * Source: machine-controller-manager, pkg/util/provider/machinecontroller/userdata.go.
 */
export function renderUserData(userData: string, values: UserDataValues): string {
  const p = UserDataPlaceholders;
  const withToken =
    values.bootstrapToken === undefined
      ? userData
      : replacePlaceholder(userData, p.BootstrapToken, p.BootstrapTokenEscaped, values.bootstrapToken);
  return replacePlaceholder(withToken, p.MachineName, p.MachineNameEscaped, values.machineName);
}
