import type { CreateDriver } from '@mcm/conformance';
import { createLocalDriver } from '@mcm/provider-local';

/** The driver with the options of its machine controller. The Secret contains the endpoint. */
export const createDriver: CreateDriver = ({ clock, connect }) => createLocalDriver({ clock, connect });
